#include "runtime/jpeg/plane_decoder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/photos.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

using namespace leat;
using namespace leat::test;

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 40;

/// Samples of each plane that stand for pixels of the part, one row behind the other.
using planes = std::vector<std::vector<std::uint8_t>>;

/// Nothing where the decoder finds damage.
std::optional<planes> decode(plane_decoder& decoder, std::span<const std::byte> file,
                             plane_decoder::way by, const mcu_rect& part,
                             bool with_places = false) {
  const auto frame = decoder.open(file, no_limit);
  std::vector<scan_place> places;
  if (with_places) {
    places = decoder.survey();
    REQUIRE(!places.empty());
  }
  if (!decoder.start(by, part, places))
    return std::nullopt;
  planes result(frame.num_components);
  std::vector<std::size_t> next(frame.num_components);
  std::vector<std::size_t> end(frame.num_components);
  std::vector<std::size_t> width(frame.num_components);
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto& x = frame.components[c];
    const auto size = frame.plane_size(c);
    next[c] = part.y * x.down * 8;
    end[c] = std::min(size.height, (part.y + part.height) * x.down * 8);
    width[c] = std::min(size.width - part.x * x.across * 8, part.width * x.across * 8);
  }
  plane_strip strip;
  while (next != end) {
    if (!decoder.next(strip))
      return std::nullopt;
    for (std::size_t c = 0; c < frame.num_components; ++c) {
      const auto& rows = strip.planes[c];
      for (std::size_t y = rows.first; y < rows.first + rows.count; ++y)
        if (y == next[c] && y < end[c]) {
          const auto* row = rows.data + (y - rows.first) * rows.stride;
          result[c].insert(result[c].end(), row, row + width[c]);
          ++next[c];
        }
    }
  }
  return result;
}

mcu_rect whole(const jpeg_frame& frame) {
  return {0, 0, frame.mcus_across(), frame.mcus_down()};
}

mcu_rect random_part(const jpeg_frame& frame, std::mt19937& random) {
  auto range = [&](std::size_t n, std::size_t& begin, std::size_t& size) {
    begin = random() % n;
    size = 1 + random() % (n - begin);
  };
  mcu_rect x;
  range(frame.mcus_across(), x.x, x.width);
  range(frame.mcus_down(), x.y, x.height);
  return x;
}

void check_same_planes(plane_decoder& decoder, std::span<const std::byte> file,
                       std::mt19937& random, int parts) {
  const auto frame = decoder.open(file, no_limit);
  REQUIRE(decoder.can_go(plane_decoder::way::own));
  for (int i = 0; i <= parts; ++i) {
    const auto part = i == 0 ? whole(frame) : random_part(frame, random);
    const auto want = decode(decoder, file, plane_decoder::way::libjpeg, part);
    const auto own = decode(decoder, file, plane_decoder::way::own, part);
    CAPTURE(part.x, part.y, part.width, part.height);
    REQUIRE(own.has_value());
    CHECK((*own == *want));
    if (frame.restart_interval == 0) {
      const auto placed = decode(decoder, file, plane_decoder::way::own, part, true);
      CHECK((placed == want));
    }
  }
}

} // namespace

TEST_CASE("both ways give the same planes of written files, whole and in parts") {
  std::mt19937 random(7);
  plane_decoder decoder;
  for (const int quality : {3, 50, 90, 100})
    for (const unsigned restart : {0U, 1U, 7U})
      for (const auto& [across, down] :
           {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}})
        for (const auto& [width, height] :
             {std::pair{1, 1}, {9, 7}, {33, 47}, {200, 130}, {17, 301}}) {
          const jpeg_kind kind{
              .horizontal = across, .vertical = down, .restart = restart, .quality = quality};
          CAPTURE(to_string(kind), quality, width, height);
          check_same_planes(
              decoder,
              write_jpeg(static_cast<std::size_t>(width), static_cast<std::size_t>(height), kind),
              random, 2);
        }
}

TEST_CASE("both ways give the same plane of grayscale files") {
  std::mt19937 random(8);
  plane_decoder decoder;
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 2}, {1, 2}})
    for (const auto& [width, height] : {std::pair{1, 1}, {9, 7}, {133, 77}})
      check_same_planes(decoder,
                        write_jpeg(static_cast<std::size_t>(width),
                                   static_cast<std::size_t>(height),
                                   {.components = 1, .horizontal = across, .vertical = down}),
                        random, 3);
}

TEST_CASE("both ways give the same planes of photographs") {
  const auto photos = load_photos(1000);
  if (photos.empty()) {
    WARN("skipped: no photographs in " << LEAT_PHOTOS);
    return;
  }
  std::mt19937 random(9);
  plane_decoder decoder;
  for (const auto& photo : photos)
    check_same_planes(decoder, photo, random, 1);
}
