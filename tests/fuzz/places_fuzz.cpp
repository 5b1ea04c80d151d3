#include "runtime/image/jpeg/file_seal.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>

using namespace leat;

// The input is what an index keeps of a JPEG. Its seal is corrected, so that what follows is
// reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span{data, size});
  const std::vector<std::byte> file(100);
  std::vector<scan_place> rows;
  std::vector<work_place> work;
  check(!read_row_places(input, file, rows) || are_whole_row_places(input));
  check(!read_work_places(input, file, work) || are_whole_work_places(input));
  std::vector<std::byte> bytes(input.begin(), input.end());
  bytes.resize(std::max(bytes.size(), seal_bytes));
  seal(bytes, file);
  if (read_row_places(bytes, file, rows))
    check(write_row_places(file, rows) == bytes);
  if (!read_work_places(bytes, file, work))
    return 0;
  check(write_work_places(file, work) == bytes);
  for (std::size_t i = 0; i < work.size(); ++i) {
    const bool begins_row = work[i].column == 0;
    check(begins_row || (i > 0 && work[i].column > work[i - 1].column));
    check(i == 0 || work[i].bit >= work[i - 1].bit);
  }
  return 0;
}
