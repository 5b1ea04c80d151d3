#include "runtime/image/jpeg/work_places.hpp"

#include "runtime/image/jpeg/file_seal.hpp"

#include <algorithm>
#include <limits>

namespace leat {

namespace {

// Of each place: how many bits it lies after the one before it, its DC coefficients, its column.
// All are numbers of 16 bits.
constexpr std::size_t work_place_bytes = 10;

// A stretch has at most so many bits, or is one MCU; after each byte of 0xFF there is a zero.
constexpr std::size_t bits_of_an_mcu = scan_decoder::max_blocks * 64 * (16 + 15);
static_assert(2 * std::max(scan_decoder::bits_of_work, bits_of_an_mcu)
              <= std::numeric_limits<std::uint16_t>::max());

} // namespace

std::vector<std::byte> write_work_places(std::span<const std::byte> file,
                                         std::span<const work_place> places) {
  std::vector<std::byte> bytes(seal_bytes + places.size() * work_place_bytes);
  auto* at = bytes.data() + seal_bytes;
  std::uint32_t before = 0;
  for (const auto& x : places) {
    put_number(at, static_cast<std::uint16_t>(x.bit - before));
    before = x.bit;
    for (const auto dc : x.dc)
      put_number(at, static_cast<std::uint16_t>(dc));
    put_number(at, x.column);
  }
  seal(bytes, file);
  return bytes;
}

bool read_work_places(std::span<const std::byte> bytes, std::span<const std::byte> file,
                      std::vector<work_place>& to) {
  to.clear();
  const auto found = sealed_of(file, bytes, work_place_bytes);
  if (!found)
    return false;
  const auto* at = found->data();
  to.resize(found->size() / work_place_bytes);
  std::uint64_t bit = 0;
  std::size_t next_column = 0;
  bool good = true;
  for (auto& x : to) {
    bit += take_number<std::uint16_t>(at);
    x.bit = static_cast<std::uint32_t>(bit);
    for (auto& dc : x.dc)
      dc = static_cast<std::int16_t>(take_number<std::uint16_t>(at));
    x.column = take_number<std::uint16_t>(at);
    good = good && (x.column == 0 || (next_column != 0 && x.column >= next_column));
    next_column = std::size_t{x.column} + 1;
  }
  if (good && bit <= std::numeric_limits<std::uint32_t>::max())
    return true;
  to.clear();
  return false;
}

bool are_whole_work_places(std::span<const std::byte> bytes) {
  return bytes.empty() || sealed(bytes, work_place_bytes);
}

bool as_work_places(const jpeg_frame& frame, std::span<const scan_place> places,
                    std::vector<work_place>& to) {
  to.clear();
  const auto a_row = scan_decoder::places_a_row(frame);
  if (places.size() != frame.mcus_down() * a_row)
    return false;
  to.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    to.push_back({places[i].bit, places[i].dc,
                  static_cast<std::uint16_t>(i % a_row * scan_decoder::mcus_a_place)});
  return true;
}

} // namespace leat
