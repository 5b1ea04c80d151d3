#include "runtime/image/jpeg/plane_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/sanitized.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace leat::plane_decoder_test {

using namespace leat::test;

namespace {

/// Samples of each plane that stand for pixels of the part, one row after the other.
using planes = std::vector<std::vector<std::uint8_t>>;

/// Nothing if the decoder finds damage.
std::optional<planes> decode(plane_decoder& decoder, std::span<const std::byte> file,
                             std::size_t eighths, plane_decoder::way by, const mcu_rect& part,
                             bool with_places = false) {
  decoder.open(file, no_limit);
  const auto frame = decoder.scale(eighths);
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
    next[c] = part.y * x.mcu_height();
    end[c] = std::min(size.height, (part.y + part.height) * x.mcu_height());
    width[c] = std::min(size.width - part.x * x.mcu_width(), part.width * x.mcu_width());
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

mcu_rect random_mcus(const jpeg_frame& frame, std::mt19937& random) {
  const auto x = random_part({frame.mcus_across(), frame.mcus_down()}, random);
  return {x.x, x.y, x.width, x.height};
}

/// Checks any part, at any scale.
void check_same_planes(plane_decoder& decoder, std::span<const std::byte> file,
                       std::mt19937& random, int parts) {
  const auto frame = decoder.open(file, no_limit);
  REQUIRE(decoder.can_go(plane_decoder::way::own));
  for (int i = 0; i <= parts; ++i) {
    const auto part = i == 0 ? whole(frame) : random_mcus(frame, random);
    for (const std::size_t eighths : {8, 4, 2, 1}) {
      const auto want = decode(decoder, file, eighths, plane_decoder::way::libjpeg, part);
      const auto own = decode(decoder, file, eighths, plane_decoder::way::own, part);
      CAPTURE(part.x, part.y, part.width, part.height, eighths);
      REQUIRE(own.has_value());
      CHECK((*own == *want));
      if (frame.restart_interval == 0)
        CHECK((decode(decoder, file, eighths, plane_decoder::way::own, part, true) == want));
    }
  }
}

} // namespace

TEST_CASE("both ways give the same planes of written files, whole and in parts") {
  using row = std::array<int, 3>;
  std::mt19937 random(7);
  plane_decoder decoder;
  for (const int quality : {3, 50, 90, 100})
    for (const unsigned restart : {0U, 1U, 7U})
      for (const auto& [components, across, down] :
           {row{3, 1, 1}, row{3, 2, 1}, row{3, 1, 2}, row{3, 2, 2}, row{3, 4, 1}, row{3, 1, 4},
            row{3, 4, 2}, row{1, 1, 1}, row{1, 2, 2}, row{1, 1, 2}})
        for (const auto& [width, height] :
             {std::pair{1UL, 1UL}, {9, 7}, {33, 47}, {200, 130}, {17, 301}}) {
          if (components == 1 && quality != 90)
            continue;
          const jpeg_kind kind{.components = components,
                               .horizontal = across,
                               .vertical = down,
                               .restart = restart,
                               .quality = quality};
          CAPTURE(to_string(kind), width, height);
          check_same_planes(decoder, write_jpeg(width, height, kind), random, 2);
        }
}

TEST_CASE("both ways give the same planes of photographs") {
  std::mt19937 random(9);
  plane_decoder decoder;
  for (const auto& photo : photos_or_warning(sanitized ? 30 : 1000))
    check_same_planes(decoder, photo, random, 1);
}

namespace {

/// The file with all segments of a marker made comments.
std::vector<std::byte> without(std::vector<std::byte> file, int marker) {
  for (auto at = find_marker(file, marker); at < file.size(); at = find_marker(file, marker))
    file[at + 1] = std::byte{0xFE};
  return file;
}

/// Everything that a decoder finds in a file: its planes, or nothing if it is damaged, or why it is
/// bad.
struct outcome {
  std::optional<planes> samples;
  std::optional<cause> why;
  bool is_own = false;

  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome look_at(plane_decoder& decoder, std::span<const std::byte> file) try {
  const auto frame = decoder.open(file, no_limit);
  const bool is_own = decoder.can_go(plane_decoder::way::own);
  const auto by = is_own ? plane_decoder::way::own : plane_decoder::way::libjpeg;
  return {decode(decoder, file, 8, by, whole(frame)), std::nullopt, is_own};
} catch (const bad_sample& x) {
  return {std::nullopt, x.why(), false};
}

} // namespace

TEST_CASE("nothing that one file says serves the next") {
  const auto plain = write_jpeg(70, 50, {.horizontal = 2, .vertical = 2, .optimized = true});
  const auto restarts = write_jpeg(64, 48, {.restart = 2});
  auto cut = plain;
  cut.resize(find_marker(plain, 0xC4) + 20);
  auto torn = plain;
  torn[torn.size() - 200] = std::byte{0xFF};
  torn[torn.size() - 199] = std::byte{0xD9};
  const std::vector<std::vector<std::byte>> files(
      {plain, write_jpeg(40, 90, {.quality = 20}), write_jpeg(64, 48, {.rgb = true}),
       write_jpeg(50, 50, {.components = 1}), write_jpeg(60, 60, {.progressive = true}),
       write_jpeg(33, 20, {.components = 4}), restarts, without(restarts, 0xDD),
       without(plain, 0xDB), without(plain, 0xC4), without(plain, 0xE0),
       without(write_jpeg(64, 48, {.rgb = true}), 0xEE), cut, torn,
       std::vector{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}, std::byte{0xD9}}});
  std::vector<outcome> alone;
  for (const auto& file : files) {
    plane_decoder fresh;
    alone.push_back(look_at(fresh, file));
  }
  CHECK(alone[0].is_own);
  CHECK(alone[8].why == cause::corrupt);
  plane_decoder used;
  for (std::size_t a = 0; a < files.size(); ++a)
    for (std::size_t b = 0; b < files.size(); ++b) {
      CAPTURE(a, b);
      look_at(used, files[a]);
      CHECK((look_at(used, files[b]) == alone[b]));
    }
}

#ifdef __GLIBC__
TEST_CASE("a decoder that was used takes no memory for the next file") {
  const auto file = write_jpeg(70, 50, {.optimized = true});
  plane_decoder decoder;
  auto use = [&] {
    const auto frame = decoder.open(file, no_limit);
    plane_strip strip;
    REQUIRE(decoder.start(plane_decoder::way::own, whole(frame)));
    for (std::size_t y = 0; y < frame.mcus_down(); ++y)
      REQUIRE(decoder.next(strip));
  };
  use();
  const auto before = ::mallinfo2().uordblks;
  for (int i = 0; i < 100; ++i)
    use();
  // The margin is for Catch2's own records.
  CHECK(::mallinfo2().uordblks < before + 50'000);
}
#endif

} // namespace leat::plane_decoder_test
