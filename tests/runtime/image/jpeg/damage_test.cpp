// All ways judge a damaged file in the same way.
#include "tests/support/catch.hpp"
#include "tests/support/image_ways.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/photos.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <random>

namespace leat::damage_test {

using namespace leat::test;

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 40;

using bytes = std::vector<std::byte>;

std::size_t below(std::mt19937& random, std::size_t n) {
  return random() % n;
}

/// A file, and where things are in it.
struct subject {
  bytes file;
  jpeg_frame frame;
  /// First byte of the scan.
  std::size_t scan = 0;
  /// The first byte that belongs only to each MCU row, and then the end of the scan.
  std::vector<std::size_t> rows;
};

/// The subject of a clean file without restart markers.
subject subject_of(bytes file) {
  subject x;
  x.file = std::move(file);
  plane_decoder decoder;
  x.frame = decoder.open(x.file, no_limit);
  x.scan = x.file.size() - x.frame.scan.size();
  const auto places = decoder.survey();
  for (std::size_t i = 0; i < places.size(); i += scan_decoder::places_a_row(x.frame))
    x.rows.push_back(x.scan + (places[i].bit + 7) / 8);
  REQUIRE_FALSE(x.rows.empty());
  x.rows.push_back(x.file.size() - 2);
  return x;
}

/// A plan for pixels of some columns down to a row of MCUs, ending well within it, since chroma is
/// read below a part's last pixels; if the image is decoded small, down to the next row.
resize_plan plan_down_to(const subject& x, std::size_t row, std::mt19937& random,
                         bool decoded_small) {
  const auto high = jpeg_frame::block * x.frame.down;
  const auto height = std::min(x.frame.size.height, row * high + high / 2);
  const auto width = 1 + below(random, x.frame.size.width);
  const auto left = below(random, x.frame.size.width - width + 1);
  const image_size size{decoded_small ? 1 + width / 24 : std::max<std::size_t>(40, width / 8),
                        decoded_small ? 1 + height / 24 : std::max<std::size_t>(30, height / 8)};
  return {{left, 0, width, height}, size, {0, 0, size.width, size.height}};
}

/// The row after those that libjpeg decodes with this one.
std::size_t row_after(const subject& x, std::size_t row) {
  const auto rows = x.frame.rows_at_once;
  return std::min(row - row % rows + rows, x.rows.size() - 1);
}

enum class damage : std::uint8_t {
  bit,
  zeros,
  random,
  marker,
  restart,
  end,
  removed,
  last = removed
};

bytes damaged(bytes file, damage kind, std::size_t at, std::mt19937& random) {
  const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
  auto put = [&](std::byte code) { file.insert(place, {std::byte{0xFF}, code}); };
  switch (kind) {
  case damage::bit:
    *place ^= static_cast<std::byte>(1U << random() % 8);
    break;
  case damage::zeros:
    std::fill_n(place, std::min<std::size_t>(6, file.size() - 2 - at), std::byte{0});
    break;
  case damage::random:
    *place = static_cast<std::byte>(random());
    break;
  case damage::marker:
    put(std::byte{0xC4});
    break;
  case damage::restart:
    put(static_cast<std::byte>(0xD0 + random() % 8));
    break;
  case damage::end:
    put(std::byte{0xD9});
    break;
  case damage::removed:
    file.erase(place);
    break;
  }
  return file;
}

struct tally {
  int good = 0;
  int bad = 0;
};

void check_damage_above(image_ways& ways, const subject& x, int variants, std::mt19937& random,
                        tally& count) {
  for (int i = 0; i < variants; ++i) {
    const auto row = below(random, x.rows.size() - 1);
    const auto at = x.scan + below(random, x.rows[row_after(x, row)] - x.scan);
    const auto kind = static_cast<damage>(random() % (static_cast<unsigned>(damage::last) + 1));
    const auto file = damaged(x.file, kind, at, random);
    CAPTURE(row, at, static_cast<int>(kind));
    image_outcome first;
    CHECK(ways.differing_if_damaged(file, plan_down_to(x, row, random, i % 2 == 0),
                                    {.type = dtype::u8}, ways.survey(file), first)
          == "");
    ++(first.why ? count.bad : count.good);
  }
}

void check_damage_below(image_ways& ways, const subject& x, int variants, std::mt19937& random) {
  for (int i = 0; i < variants; ++i) {
    const auto row = below(random, x.rows.size() - 1);
    const bool decoded_small = i % 2 == 0;
    const auto last = std::min(row + (decoded_small ? 1 : 0), x.rows.size() - 1);
    const auto begin = row_after(x, last);
    if (begin + 1 >= x.rows.size())
      continue;
    const auto at = x.rows[begin] + below(random, x.rows.back() - x.rows[begin]);
    const auto kind = static_cast<damage>(random() % (static_cast<unsigned>(damage::last) + 1));
    const auto plan = plan_down_to(x, row, random, decoded_small);
    CAPTURE(row, at, static_cast<int>(kind), decoded_small);
    image_outcome clean;
    CHECK(ways.differing(x.file, plan, {.type = dtype::u8}, {}, clean) == "");
    image_outcome first;
    const auto file = damaged(x.file, kind, at, random);
    CHECK(ways.differing_if_damaged(file, plan, {.type = dtype::u8}, ways.survey(file), first)
          == "");
    CHECK((first == clean));
  }
}

std::vector<jpeg_kind> kinds() {
  return {{},
          {.horizontal = 2},
          {.horizontal = 2, .vertical = 2},
          {.vertical = 2, .optimized = true},
          {.horizontal = 4},
          {.components = 1},
          {.components = 1, .horizontal = 2, .vertical = 2},
          {.quality = 10},
          {.horizontal = 2, .vertical = 2, .quality = 100, .optimized = true}};
}

void check_truncated(image_ways& ways, std::span<const std::byte> file, const resize_plan& what) {
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto got = ways.make(i, file, what, {.type = dtype::u8});
    CAPTURE(ways.name(i), got.text);
    CHECK((got.why == cause::truncated));
  }
}

} // namespace

TEST_CASE("a file without its end marker is truncated on every way, whatever is wanted of it") {
  std::mt19937 random(1);
  image_ways ways(no_limit);
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    const auto x = subject_of(write_jpeg(64, 80, kind));
    const std::span<const std::byte> file{x.file};
    for (const auto size : {x.file.size() - 2, x.file.size() - 1, x.rows[1], x.scan + 1, x.scan})
      check_truncated(ways, file.first(size), plan_down_to(x, 0, random, false));
  }
}

TEST_CASE("damage above the end of a part is judged alike on every way") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  image_ways ways(no_limit);
  tally count;
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    check_damage_above(ways, subject_of(write_jpeg(75, 90, kind)), sanitized ? 10 : 150, random,
                       count);
  }
  CAPTURE(count.good, count.bad);
  CHECK(std::min(count.good, count.bad) > 0);
}

TEST_CASE("damage below a part is not noticed on any way") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  image_ways ways(no_limit);
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    check_damage_below(ways, subject_of(write_jpeg(75, 90, kind)), sanitized ? 5 : 50, random);
  }
}

TEST_CASE("damaged photographs are judged alike on every way") {
  const auto photos = load_photos(sanitized ? 2 : 30);
  if (photos.empty()) {
    WARN("skipped: no photographs in " << photos_dir);
    return;
  }
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  image_ways ways(no_limit);
  tally count;
  for (const auto& photo : photos) {
    const auto x = subject_of(photo);
    check_damage_above(ways, x, sanitized ? 2 : 20, random, count);
    check_damage_below(ways, x, sanitized ? 1 : 5, random);
  }
}

TEST_CASE("damage between restart markers is judged alike on every way") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  image_ways ways(no_limit);
  for (const auto& kind :
       {jpeg_kind{.restart = 2}, jpeg_kind{.horizontal = 2, .vertical = 2, .restart = 5},
        jpeg_kind{.components = 1, .restart = 1}}) {
    CAPTURE(to_string(kind));
    const auto file = write_jpeg(75, 90, kind);
    const auto scan = find_marker(file, 0xDA);
    const resize_plan whole{{0, 0, 75, 90}, {40, 30}, {0, 0, 40, 30}};
    for (int i = 0; i < (sanitized ? 10 : 150); ++i) {
      const auto at = scan + 14 + below(random, file.size() - scan - 18);
      const auto damage_kind =
          static_cast<damage>(random() % (static_cast<unsigned>(damage::last) + 1));
      CAPTURE(at, static_cast<int>(damage_kind));
      image_outcome first;
      CHECK(ways.differing_if_damaged(damaged(file, damage_kind, at, random), whole,
                                      {.type = dtype::u8}, {}, first)
            == "");
    }
  }
}

TEST_CASE("places are known only for wholly clean scans") {
  image_ways ways(no_limit);
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    const auto x = subject_of(write_jpeg(75, 90, kind));
    auto with = [&](std::size_t at, std::initializer_list<int> codes) {
      auto file = x.file;
      bytes more;
      for (const int code : codes)
        more.push_back(static_cast<std::byte>(code));
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
      return file;
    };
    const auto end = x.file.size() - 2;
    CHECK(ways.survey(x.file).size() == x.frame.mcus_down());
    CHECK(ways.survey(with(x.file.size(), {1, 2, 3})).size() == x.frame.mcus_down());
    CHECK(ways.survey(with(end, {0})).empty());
    CHECK(ways.survey(with(end, {0xFF})).empty());
    CHECK(ways.survey(with(end, {0xFF, 0xD0})).empty());
    CHECK(ways.survey(with(end, {0xFF, 0xFE, 0, 2})).empty());
    CHECK(ways.survey(with(x.rows[3], {0xFF, 0xD0})).empty());
    CHECK(ways.survey(with(x.rows[3], {0xFF, 0xD9})).empty());
    auto cut = x.file;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(x.rows[4]), cut.end() - 2);
    CHECK(ways.survey(cut).empty());
  }
  CHECK(ways.survey(write_jpeg(75, 90, {.restart = 3})).empty());
  CHECK(ways.survey(write_jpeg(75, 90, {.progressive = true})).empty());
  CHECK(ways.survey(write_jpeg(75, 90, {.components = 4})).empty());
}

} // namespace leat::damage_test
