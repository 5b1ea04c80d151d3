#include "runtime/base/xxh3.hpp"
#include "runtime/sources/folder/folder_index.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace leat;

// The input is a folder's index. Magic, listing, number of images and checksum are corrected, so
// that the checks after them are reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t header = 48;
  if (size < header + 1)
    return 0;
  const std::vector<image_file> images(data[size - 1] % 16);
  auto held = std::make_shared<std::vector<std::byte>>(size - 1);
  std::memcpy(held->data(), data, size - 1);
  const auto right =
      folder_index::write(images, std::vector<std::vector<std::byte>>(images.size()));
  std::copy_n(right.begin(), header - 8, held->begin());
  const auto checked = std::min(held->size(), header + 8 * images.size());
  const auto sum = xxh3_64(std::span{*held}.first(checked).subspan(16));
  std::memcpy(held->data() + 8, &sum, sizeof sum);
  const auto index = folder_index::adopt({{held, held->data()}, held->size()}, images);
  if (!index)
    return 0;
  std::size_t bytes = 0;
  volatile unsigned sum_of_places = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::vector<std::byte> places(index->place_bytes(i));
    if (!places.empty() && !index->read_places(i, places))
      std::abort();
    for (auto x : places) {
      sum_of_places = sum_of_places + std::to_integer<unsigned>(x);
      ++bytes;
    }
  }
  if (bytes != held->size() - header - 8 * images.size())
    std::abort();
  return 0;
}
