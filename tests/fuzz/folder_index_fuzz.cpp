#include "runtime/sources/folder/folder_index.hpp"
#include "tests/support/seal_index.hpp"

#include <algorithm>
#include <cstdlib>

using namespace leat;

// The input is a folder's index. What tells it from others, and its checksums, are corrected, so
// that the checks after them are reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::vector<image_file> images(data[size - 1] % 16);
  const auto input = std::as_bytes(std::span{data, size - 1});
  auto held = std::make_shared<std::vector<std::byte>>(input.begin(), input.end());
  test::seal_index(*held,
                   folder_index::write(images, std::vector<std::vector<std::byte>>(images.size())));
  const auto index = folder_index::adopt({{held, held->data()}, held->size()}, images);
  if (!index)
    return 0;
  volatile unsigned sum_of_places = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::vector<std::byte> places(index->place_bytes(i));
    if (!places.empty() && !index->read_places(i, places))
      std::abort();
    for (auto x : places)
      sum_of_places = sum_of_places + std::to_integer<unsigned>(x);
  }
  return 0;
}
