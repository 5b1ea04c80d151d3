#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/lent_job.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <string_view>

using namespace leat;

namespace {

void read_rows(std::string_view bytes) {
  if (const auto rows = decode_offer(bytes)) {
    for (const auto& x : *rows) {
      touch(x.request);
      records_at_hand records;
      (void)records.read(x.records);
    }
    check(decode_offer(encode(*rows)).has_value());
  }
  if (const auto rows = decode_answer(bytes)) {
    for (const auto& x : *rows)
      touch(x.result);
    check(decode_answer(encode(*rows)).has_value());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (const auto note = decode_lending_note(bytes))
    check(decode_lending_note(encode(*note)) == *note);
  if (const auto job = decode_lent_job(bytes))
    check(decode_lent_job(encode(*job)).has_value());
  read_rows(bytes);
  return 0;
}
