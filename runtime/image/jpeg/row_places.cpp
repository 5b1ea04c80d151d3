#include "runtime/image/jpeg/row_places.hpp"

#include "runtime/image/jpeg/file_seal.hpp"

namespace leat {

namespace {

constexpr std::size_t row_place_bytes = 10;

} // namespace

std::vector<std::byte> write_row_places(std::span<const std::byte> file,
                                        std::span<const scan_place> places) {
  std::vector<std::byte> bytes(seal_bytes + places.size() * row_place_bytes);
  auto* at = bytes.data() + seal_bytes;
  for (const auto& x : places) {
    put_number(at, x.bit);
    for (const auto dc : x.dc)
      put_number(at, static_cast<std::uint16_t>(dc));
  }
  seal(bytes, file);
  return bytes;
}

bool read_row_places(std::span<const std::byte> bytes, std::span<const std::byte> file,
                     std::vector<scan_place>& to) {
  to.clear();
  const auto found = sealed_of(file, bytes, row_place_bytes);
  if (!found)
    return false;
  const auto* at = found->data();
  to.resize(found->size() / row_place_bytes);
  for (auto& x : to) {
    x.bit = take_number<std::uint32_t>(at);
    for (auto& dc : x.dc)
      dc = static_cast<std::int16_t>(take_number<std::uint16_t>(at));
  }
  return true;
}

bool are_whole_row_places(std::span<const std::byte> bytes) {
  return bytes.empty() || sealed(bytes, row_place_bytes);
}

} // namespace leat
