// All ways judge a damaged file in the same way.
#include "tests/support/image_files.hpp"
#include "tests/support/image_ways.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>

namespace leat::damage_test {

using namespace leat::test;

namespace {

using bytes = std::vector<std::byte>;

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
  const auto width = 1 + random() % x.frame.size.width;
  const auto left = random() % (x.frame.size.width - width + 1);
  const image_size size{decoded_small ? 1 + width / 24 : std::max<std::size_t>(40, width / 8),
                        decoded_small ? 1 + height / 24 : std::max<std::size_t>(30, height / 8)};
  return {{left, 0, width, height}, size, {0, 0, size.width, size.height}};
}

/// The row after those that libjpeg decodes with this one.
std::size_t row_after(const subject& x, std::size_t row) {
  const auto rows = x.frame.rows_at_once;
  return std::min(row - row % rows + rows, x.rows.size() - 1);
}

/// Changes a bit or bytes, adds a marker or removes a byte.
bytes damaged(bytes file, std::size_t at, std::mt19937& random) {
  const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
  const auto kind = random() % 7;
  UNSCOPED_INFO("damage of kind " << kind << " at " << at);
  if (kind == 0)
    *place ^= static_cast<std::byte>(1U << random() % 8);
  else if (kind == 1)
    std::fill_n(place, std::min<std::size_t>(6, file.size() - 2 - at), std::byte{0});
  else if (kind == 2)
    *place = static_cast<std::byte>(random());
  else if (kind == 3)
    file.erase(place);
  else
    file.insert(place,
                {std::byte{0xFF}, kind == 4   ? std::byte{0xC4}
                                  : kind == 5 ? std::byte{0xD9}
                                              : static_cast<std::byte>(0xD0 + random() % 8)});
  return file;
}

struct tally {
  int good = 0;
  int bad = 0;
};

void check_damage_above(image_ways& ways, const subject& x, int variants, std::mt19937& random,
                        tally& count) {
  for (int i = 0; i < variants; ++i) {
    const auto row = random() % (x.rows.size() - 1);
    CAPTURE(row);
    const auto file =
        damaged(x.file, x.scan + random() % (x.rows[row_after(x, row)] - x.scan), random);
    image_outcome first;
    CHECK(ways.differing_if_damaged(file, plan_down_to(x, row, random, i % 2 == 0),
                                    {.type = dtype::u8}, ways.survey(file), first)
          == "");
    ++(first.why ? count.bad : count.good);
  }
}

void check_damage_below(image_ways& ways, const subject& x, int variants, std::mt19937& random) {
  for (int i = 0; i < variants; ++i) {
    const auto row = random() % (x.rows.size() - 1);
    const bool decoded_small = i % 2 == 0;
    const auto begin = row_after(x, std::min(row + (decoded_small ? 1 : 0), x.rows.size() - 1));
    if (begin + 1 >= x.rows.size())
      continue;
    const auto plan = plan_down_to(x, row, random, decoded_small);
    CAPTURE(row, decoded_small);
    image_outcome clean;
    CHECK(ways.differing(x.file, plan, {.type = dtype::u8}, {}, clean) == "");
    image_outcome first;
    const auto file =
        damaged(x.file, x.rows[begin] + random() % (x.rows.back() - x.rows[begin]), random);
    CHECK(ways.differing_if_damaged(file, plan, {.type = dtype::u8}, ways.survey(file), first)
          == "");
    CHECK((first == clean));
  }
}

std::vector<jpeg_kind> kinds() {
  using kind = jpeg_kind;
  return std::vector({kind{}, kind{.horizontal = 2}, kind{.horizontal = 2, .vertical = 2},
                      kind{.vertical = 2, .optimized = true}, kind{.horizontal = 4},
                      kind{.components = 1}, kind{.components = 1, .horizontal = 2, .vertical = 2},
                      kind{.quality = 10},
                      kind{.horizontal = 2, .vertical = 2, .quality = 100, .optimized = true}});
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
  seeded_random random;
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
  seeded_random random;
  image_ways ways(no_limit);
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    check_damage_below(ways, subject_of(write_jpeg(75, 90, kind)), sanitized ? 5 : 50, random);
  }
}

TEST_CASE("damaged photographs are judged alike on every way") {
  seeded_random random;
  image_ways ways(no_limit);
  tally count;
  for (const auto& photo : photos_or_warning(sanitized ? 2 : 30)) {
    const auto x = subject_of(photo);
    check_damage_above(ways, x, sanitized ? 2 : 20, random, count);
    check_damage_below(ways, x, sanitized ? 1 : 5, random);
  }
}

TEST_CASE("damage between restart markers is judged alike on every way") {
  seeded_random random;
  image_ways ways(no_limit);
  for (const auto& kind :
       {jpeg_kind{.restart = 2}, jpeg_kind{.horizontal = 2, .vertical = 2, .restart = 5},
        jpeg_kind{.components = 1, .restart = 1}}) {
    CAPTURE(to_string(kind));
    const auto file = write_jpeg(75, 90, kind);
    const auto scan = find_marker(file, 0xDA);
    const resize_plan whole{{0, 0, 75, 90}, {40, 30}, {0, 0, 40, 30}};
    for (int i = 0; i < (sanitized ? 10 : 150); ++i) {
      image_outcome first;
      const auto other = damaged(file, scan + 14 + random() % (file.size() - scan - 18), random);
      CHECK(ways.differing_if_damaged(other, whole, {.type = dtype::u8}, {}, first) == "");
    }
  }
}

TEST_CASE("places are known only for wholly clean scans") {
  image_ways ways(no_limit);
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    const auto x = subject_of(write_jpeg(75, 90, kind));
    auto with = [&](std::size_t at, const bytes& more) {
      auto file = x.file;
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
      return file;
    };
    const auto end = x.file.size() - 2;
    CHECK(ways.survey(x.file).size() == x.frame.mcus_down());
    CHECK(ways.survey(with(x.file.size(), bytes_of("abc"))).size() == x.frame.mcus_down());
    for (const auto& codes : {bytes_of(std::string_view{"\0", 1}), bytes_of("\xFF"),
                              bytes_of("\xFF\xD0"), bytes_of(std::string_view{"\xFF\xFE\0\2", 4})})
      CHECK(ways.survey(with(end, codes)).empty());
    CHECK(ways.survey(with(x.rows[3], bytes_of("\xFF\xD0"))).empty());
    CHECK(ways.survey(with(x.rows[3], bytes_of("\xFF\xD9"))).empty());
    auto cut = x.file;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(x.rows[4]), cut.end() - 2);
    CHECK(ways.survey(cut).empty());
  }
  for (const auto& kind :
       {jpeg_kind{.restart = 3}, jpeg_kind{.progressive = true}, jpeg_kind{.components = 4}})
    CHECK(ways.survey(write_jpeg(75, 90, kind)).empty());
}

} // namespace leat::damage_test
