#include "runtime/base/xxh3.hpp"
#include "runtime/cluster/process/process_stat.hpp"
#include "runtime/cluster/state_file.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/ip_address.hpp"
#include "runtime/network/launcher_environment.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

using namespace leat;

namespace {

void read_address(std::string_view text) {
  allow(errc::invalid_argument, [&] {
    const auto x = parse_address(text, "x", port_rule::any);
    check(parse_address(to_string(x), "x", port_rule::any) == x);
    check(parse_host(x.host, "x") == x.host);
  });
}

void read_ip(std::string_view text) {
  if (const auto ip = parse_ip(text))
    check(parse_ip(to_string(*ip)) == ip);
}

void read_host_list(std::string_view text) {
  allow(errc::invalid_argument, [&] {
    const auto x = read_launcher_facts([&](const std::string& name) {
      return std::optional{name == "SLURM_STEP_NODELIST" ? std::string{text} : "1"};
    });
    const auto& host = x.cluster.coordinator.value().value.host;
    check(!host.empty() && host.find_first_of("[],") == std::string::npos);
  });
}

void read_process(std::string_view text) {
  if (const auto x = parse_process_stat(text))
    check(x->state != 0 && text.find(x->state) != std::string_view::npos);
}

/// As it is, and with its checksum corrected, so that the sizes after it are reached.
void read_state(std::string text) {
  constexpr std::size_t checksum = 32;
  constexpr std::size_t header = 48;
  const auto read = [&] {
    const auto x = decode_state(text, "x");
    check(encode_state(x.job, x.bytes) == text);
  };
  allow(errc::torn_file, read);
  if (text.size() < header)
    return;
  std::memcpy(text.data(), encode_state("", "").data(), 16);
  hash_stream hash;
  hash.add_raw(std::as_bytes(std::span{text}.first(checksum)));
  hash.add_raw(std::as_bytes(std::span{text}.subspan(header)));
  const auto sum = hash.digest128();
  std::memcpy(text.data() + checksum, &sum.low, sizeof sum.low);
  std::memcpy(text.data() + checksum + 8, &sum.high, sizeof sum.high);
  allow(errc::torn_file, read);
}

} // namespace

// The first byte says what the others are read as.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string text{reinterpret_cast<const char*>(data) + 1, size - 1};
  switch (data[0] % 5) {
  case 0:
    read_address(text);
    break;
  case 1:
    read_ip(text);
    break;
  case 2:
    read_host_list(text);
    break;
  case 3:
    read_process(text);
    break;
  default:
    read_state(text);
  }
  return 0;
}
