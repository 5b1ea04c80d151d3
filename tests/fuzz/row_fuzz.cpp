#include "runtime/rows/row_codec.hpp"
#include "tests/fuzz/checks.hpp"

#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace leat;

namespace {

const job_plan& a_job() {
  static const auto plan = plan_without_layout(
      count(9)
          .filter({.name = "all@1", .make = [] { return [](sample&) { return true; }; }})
          .batch(3));
  return plan;
}

const batch_layout& fields() {
  static const batch_layout layout{
      {{"dense", false, dtype::u8, {3}}, {"ragged", true, dtype::u32, {2}}}};
  return layout;
}

/// What was read is written and read again as the same.
void read_request(std::string_view bytes) {
  const auto row = decode_request(bytes, a_job());
  if (!row)
    return;
  check(can_travel(*row));
  const auto again = encode(*row);
  check(encode(*decode_request(again, a_job())) == again);
}

void read_answer(std::string_view bytes) {
  row_result found;
  if (decode_result(bytes, nullptr, found)) {
    const auto again = encode(found);
    check(decode_result(again, nullptr, found));
    check(encode(found) == again);
  }
  std::array<std::byte, 3> dense{};
  ragged_buffer ragged;
  const std::array<std::byte*, 2> places{dense.data(), nullptr};
  const std::array<ragged_row, 2> rows{ragged_row{}, ragged_row{.in = &ragged}};
  const row_target target{&fields(), places, rows};
  if (decode_result(bytes, &target, found)) {
    check(ragged.size() % 8 == 0 && ragged.size() <= bytes.size());
    touch(dense);
    touch(rows[1].bytes());
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  read_request(bytes);
  read_answer(bytes);
  return 0;
}
