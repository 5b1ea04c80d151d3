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
  test::seal_index(bytes,
                   folder_index::write(images, std::vector<std::vector<std::byte>>(images.size())));
  const auto index = folder_index::adopt(test::held(std::move(bytes)), images);
  for (std::size_t i = 0; index && i < images.size(); ++i) {
    std::vector<std::byte> places(index->place_bytes(i));
    check(places.empty() || index->read_places(i, places));
    touch(places);
  }
  return 0;
}
