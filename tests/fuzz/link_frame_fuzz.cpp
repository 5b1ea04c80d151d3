#include "runtime/network/links/frame_reader.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

using namespace leat;

namespace {

/// What was read is written and read again as the same.
template <class Read>
void read(Read decode, std::string_view bytes) {
  const auto x = decode(bytes);
  if (!x)
    return;
  const auto again = encode(*x);
  check(encode(*decode(again)) == again);
}

std::optional<link_hello> known_hello(std::string_view bytes) {
  auto x = decode_link_hello(bytes);
  return x && x->role ? std::move(x) : std::nullopt;
}

} // namespace

/// The first byte says what may come and in which pieces, the others come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view came{reinterpret_cast<const char*>(data), size};
  if (came.empty())
    return 0;
  const auto first = static_cast<std::uint8_t>(came[0]);
  came.remove_prefix(1);
  const auto role = static_cast<link_role>(first & 3);
  const frame_rules rules[] = {hello_rules(), answer_rules(), rules_from(role), rules_to(role)};
  frame_reader reader{rules[first >> 2 & 3]};
  const std::size_t piece = 1 + (first >> 4) * 5U;
  allow(errc::cluster, [&] {
    while (!came.empty()) {
      const auto room = reader.room();
      check(!room.empty());
      const auto taken = came.substr(0, piece).copy(room.data(), room.size());
      came.remove_prefix(taken);
      if (const auto x = reader.filled(taken)) {
        check(rules[first >> 2 & 3].allows(x->head));
        touch(x->body());
        read(known_hello, x->body());
        read(decode_link_welcome, x->body());
        read(decode_link_refusal, x->body());
      }
    }
  });
  return 0;
}
