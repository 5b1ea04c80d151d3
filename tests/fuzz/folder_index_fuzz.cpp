#include "runtime/sources/folder/folder_index.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/seal_index.hpp"

using namespace leat;

// The input is a folder's index. What tells it from others, and its checksums, are corrected, so
// that the checks after them are reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::vector<image_file> images(data[size - 1] % 16);
  const auto input = std::as_bytes(std::span{data, size - 1});
  std::vector<std::byte> bytes(input.begin(), input.end());
  test::seal_index(bytes, folder_index::write(images, {}));
  const auto index = folder_index::adopt(test::held(std::move(bytes)), images);
  for (std::size_t i = 0; index && i < images.size(); ++i)
    for (const auto kind : {place_kind::rows, place_kind::work}) {
      std::vector<std::byte> places(index->places().place_bytes(kind, i));
      check(places.empty() || index->places().read_places(kind, i, places));
      touch(places);
    }
  return 0;
}
