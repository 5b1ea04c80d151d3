#include "tests/support/image_files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scan_check.hpp"

namespace leat::scan_decoder_test {

using namespace leat::test;

namespace {

using bytes = std::vector<std::byte>;

/// All samplings that are in use, and some that the format allows.
std::vector<jpeg_kind> kinds() {
  // Sampling has no effect for one component, and chroma may have more samples than luma.
  using kind = jpeg_kind;
  const std::vector samplings({kind{}, kind{.horizontal = 2}, kind{.vertical = 2},
                               kind{.horizontal = 2, .vertical = 2}, kind{.horizontal = 4},
                               kind{.vertical = 4}, kind{.horizontal = 4, .vertical = 2},
                               kind{.horizontal = 2, .vertical = 4}, kind{.components = 1},
                               kind{.components = 1, .horizontal = 2, .vertical = 2},
                               kind{.rgb = true}, kind{.other_horizontal = 2, .other_vertical = 2},
                               kind{.vertical = 2, .other_horizontal = 2, .other_vertical = 2}});
  std::vector<jpeg_kind> all;
  for (auto x : samplings)
    for (const bool optimized : {false, true})
      for (const unsigned restart : {0U, 1U, 5U})
        for (const int quality : {1, 50, 92, 100}) {
          x.optimized = optimized;
          x.restart = restart;
          x.quality = quality;
          all.push_back(x);
        }
  return all;
}

void check_whole(scan_check& checker, const bytes& file, bool has_restarts) {
  const auto got = checker.check(file, 1, no_limit);
  CHECK(got.problem == "");
  CHECK(got.is_understood);
  CHECK(got.has_places != has_restarts);
}

/// Damages a file, mostly after its headers.
bytes damaged(bytes file, std::mt19937& random) {
  const auto scan = find_marker(file, 0xDA) + 2;
  const auto tables = find_marker(file, 0xC4);
  const auto where = random() % 8;
  const auto begin = where == 0 ? 2 : where == 1 ? tables : scan;
  for (auto n = 1 + random() % 3; n > 0; --n) {
    if (begin + 2 >= file.size())
      return file;
    const auto at = begin + random() % (file.size() - begin - 1);
    const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
    const auto rest = file.size() - at;
    switch (random() % 8) {
    case 0:
      file.erase(place, place + 1 + static_cast<std::ptrdiff_t>(random() % std::min(rest, 9UL)));
      break;
    case 1:
      file.insert(place, 1 + random() % 9, static_cast<std::byte>(random()));
      break;
    case 2:
      file.resize(at);
      file.insert(file.end(), {std::byte{0xFF}, std::byte{0xD9}});
      break;
    case 3: {
      static constexpr unsigned codes[] = {0x00, 0xFF, 0xD0, 0xD1, 0xD7, 0xD9, 0xDA, 0xC4, 0x01};
      file[at] = std::byte{0xFF};
      file[at + 1] = static_cast<std::byte>(codes[random() % std::size(codes)]);
      break;
    }
    case 4:
      file[at] = static_cast<std::byte>(random());
      break;
    default:
      file[at] ^= static_cast<std::byte>(1U << random() % 8);
    }
  }
  return file;
}

struct tally {
  int good = 0;
  int partly = 0;
  int bad = 0;
};

/// Damages the file in many ways; whatever the decoder accepts must be right.
void check_damaged(scan_check& checker, const bytes& file, int variants, tally& count) {
  for (int i = 0; i < variants; ++i) {
    const std::uint32_t seed = std::random_device{}();
    std::mt19937 random(seed);
    const auto got = checker.check(damaged(file, random), seed, no_limit >> 20);
    CAPTURE(seed);
    CHECK(got.problem == "");
    if (got.is_understood)
      ++(got.rows == 0 ? count.bad : got.has_places ? count.good : count.partly);
  }
}

} // namespace

TEST_CASE("coefficients of written files are libjpeg's, whichever MCUs are decoded") {
  scan_check checker;
  for (const auto& kind : kinds())
    for (const auto& [width, height] : {std::pair{1UL, 1UL}, {7, 9}, {16, 8}, {33, 47}}) {
      CAPTURE(to_string(kind), width, height);
      check_whole(checker, write_jpeg(width, height, kind), kind.restart != 0);
    }
}

TEST_CASE("coefficients of very wide and very tall files are libjpeg's") {
  scan_check checker;
  for (const auto& kind : {jpeg_kind{}, jpeg_kind{.horizontal = 2, .vertical = 2},
                           jpeg_kind{.horizontal = 2, .vertical = 2, .restart = 100},
                           jpeg_kind{.components = 1, .optimized = true}}) {
    CAPTURE(to_string(kind));
    check_whole(checker, write_jpeg(2000, 3, kind), kind.restart != 0);
    check_whole(checker, write_jpeg(3, 2000, kind), kind.restart != 0);
  }
}

TEST_CASE("Huffman tables that libjpeg refuses are refused") {
  scan_check checker;
  const auto file = write_jpeg(20, 20, {.components = 1});
  const auto table =
      find_marker(file, 0xC4); // of DC: lengths 2 to 9, the last code one below all ones
  constexpr std::size_t counts = 5;
  constexpr std::size_t symbols = counts + 16;
  auto check_refused = [&](const bytes& x) {
    const auto got = checker.check(x, 1, no_limit);
    CHECK(got.problem == "");
    CHECK(got.is_understood);
    CHECK(got.rows == 0);
  };
  CHECK(checker.check(file, 1, no_limit).rows == 3);
  auto all_ones = file;
  all_ones[table + 3] = static_cast<std::byte>(2 + 17 + 13);
  all_ones[table + counts + 8] = std::byte{2};
  all_ones.insert(all_ones.begin() + static_cast<std::ptrdiff_t>(table + symbols + 12),
                  std::byte{12});
  check_refused(all_ones);
  auto too_many_bits = file;
  too_many_bits[table + symbols + 11] = std::byte{16};
  check_refused(too_many_bits);
  auto too_many_codes = file;
  too_many_codes[table + counts + 1] = std::byte{2};
  too_many_codes[table + counts + 2] = std::byte{4};
  check_refused(too_many_codes);
}

TEST_CASE("a scan of a part of the coefficients is not understood") {
  scan_check checker;
  auto file = write_jpeg(20, 20, {.components = 1});
  const auto part = find_marker(file, 0xDA) + 7; // first and last coefficient, bits
  for (std::size_t i = 0; i < 3; ++i) {
    auto other = file;
    other[part + i] ^= std::byte{1};
    CHECK_FALSE(checker.check(other, 1, no_limit).is_understood);
  }
}

TEST_CASE("what is taken of damaged written files is what libjpeg takes") {
  scan_check checker;
  tally count;
  for (const auto& kind : kinds()) {
    CAPTURE(to_string(kind));
    check_damaged(checker, write_jpeg(45, 61, kind), sanitized ? 3 : 30, count);
  }
  // If one of the three were 0, the damage would not be of the intended kind.
  CAPTURE(count.good, count.partly, count.bad);
  CHECK(std::min({count.good, count.partly, count.bad}) > 0);
}

TEST_CASE("coefficients of photographs, whole and damaged, are libjpeg's") {
  const auto photos = photos_or_warning(sanitized ? 5 : 200);
  scan_check checker;
  tally count;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    CAPTURE(i);
    CHECK(checker.check(photos[i], static_cast<std::uint32_t>(i), no_limit).problem.empty());
    if (i % 10 == 0)
      check_damaged(checker, photos[i], sanitized ? 3 : 20, count);
  }
}

} // namespace leat::scan_decoder_test
