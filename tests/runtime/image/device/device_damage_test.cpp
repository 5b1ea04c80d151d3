// Damaged files on a device: whatever the processor calls bad, or makes other pixels of, is told.
#include "tests/support/drawn.hpp"
#include "tests/support/host_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <deque>

namespace leat::device_damage_test {

using namespace leat::test;

namespace {

using bytes = std::vector<std::byte>;

/// A clean file, and where its scan begins and ends.
struct subject {
  surveyed_file clean;
  image_size size;
  std::size_t begin = 0;
  std::size_t end = 0;
};

subject subject_of(bytes file) {
  plane_decoder decoder;
  const auto frame = decoder.open(file, no_limit);
  subject x;
  x.size = frame.size;
  x.begin = file.size() - frame.scan.size();
  x.end = file.size() - 2;
  x.clean.file = std::move(file);
  x.clean.places = decoder.survey(&x.clean.by_work);
  return x;
}

/// Photographs, and small files of all samplings.
std::deque<subject> subjects() {
  std::deque<subject> all;
  for (auto& photo : photos_or_warning(sanitized ? 4 : 40))
    all.push_back(subject_of(std::move(photo)));
  for (const int quality : {40, 95})
    for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}})
      all.push_back(subject_of(
          write_jpeg(300, 200, {.horizontal = across, .vertical = down, .quality = quality})));
  all.push_back(subject_of(write_jpeg(150, 150, {.components = 1})));
  return all;
}

bytes damaged(bytes file, std::size_t at, std::mt19937& random) {
  const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 8) {
  case 0:
  case 1:
  case 2:
    *place ^= static_cast<std::byte>(1U << random() % 8);
    return file;
  case 3:
    *place = static_cast<std::byte>(random());
    return file;
  case 4: // a marker over what is there
    *place = std::byte{0xFF};
    return file;
  case 5:
    std::fill_n(place, std::min<std::size_t>(1 + random() % 40, file.size() - 2 - at),
                static_cast<std::byte>(random()));
    return file;
  case 6:
    file.erase(place);
    return file;
  default:
    file.insert(place, {std::byte{0xFF}, static_cast<std::byte>(random())});
    return file;
  }
}

} // namespace

TEST_CASE(
    "whatever the processor calls bad, or decodes otherwise, is told of 10,000 damaged files") {
  constexpr std::size_t files = sanitized ? 300 : 10000;
  const auto seed = std::random_device{}();
  WARN("seed " << seed);
  host_decoder decoder;
  const auto all = subjects();
  for (std::size_t i = 0; i < files; ++i) {
    if (!is_drawn(i))
      continue;
    std::mt19937 random(seed + static_cast<std::uint32_t>(i));
    const auto& x = all[random() % all.size()];
    surveyed_file y{.file = {}, .places = x.clean.places, .by_work = x.clean.by_work};
    if (random() % 4 == 0)
      y.by_work.clear();
    const auto at = x.begin + random() % (x.end - x.begin);
    y.file = damaged(x.clean.file, at, random);
    // A part around the damage, since most of it would be elsewhere; few pixels, since it is the
    // scan that matters.
    auto what = train_plan(x.size, random(), 0.3, 24 + random() % 30);
    if (random() % 8 == 0)
      what = thumbnail_plan(x.size, 12 + random() % 50);
    decoder.add(y, what, {.type = dtype::u8},
                "file " + std::to_string(i) + " with damage at " + std::to_string(at));
  }
  decoder.flush();
  const auto& found = decoder.result();
  WARN("damaged files: " << found.text());
  CHECK(decoder.problems() == "");
  CHECK(found.told_bad > 0);
  CHECK(found.equal > 0);
}

TEST_CASE("damage at the end of a scan, where nothing follows, is told") {
  seeded_random random;
  host_decoder decoder;
  const auto all = subjects();
  for (int i = 0; i < (sanitized ? 100 : 2000); ++i) {
    const auto& x = all[random() % all.size()];
    const auto at = x.end - 1 - random() % 60;
    surveyed_file y{damaged(x.clean.file, at, random), x.clean.places, x.clean.by_work};
    const resize_plan what{
        {x.size.width / 2, x.size.height - 16, x.size.width / 2, 16}, {40, 16}, {0, 0, 40, 16}};
    decoder.add(y, what, {.type = dtype::u8}, "damage at " + std::to_string(x.end - at));
  }
  decoder.flush();
  INFO(decoder.result().text());
  CHECK(decoder.problems() == "");
  CHECK(decoder.result().told_bad > 0);
}

namespace {

/// A gray JPEG, as wide as its blocks, with a scan of any bits.
class written_scan {
public:
  explicit written_scan(std::size_t blocks)
      : file_(write_jpeg(8 * blocks, 8, {.components = 1, .dc_bits = 4, .ac_bits = 8})) {
    // Each symbol's code is its number in the table.
    for (auto at = find_marker(file_, 0xC4); file_[at + 1] == std::byte{0xC4};
         at += 2 + std::to_integer<std::size_t>(file_[at + 3]))
      for (std::size_t i = 0; file_[at + 4] == std::byte{0x10} && i < 162; ++i)
        ac_[std::to_integer<std::size_t>(file_[at + 21 + i])] = static_cast<unsigned>(i);
    file_[find_marker(file_, 0xDB) + 5] = dc_factor;
    file_.resize(find_marker(file_, 0xDA) + 10);
  }

  void put(unsigned bits, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (bits >> i & 1);
      if (++bits_ % 8 == 0) {
        file_.push_back(static_cast<std::byte>(byte_));
        if ((byte_ & 0xFF) == 0xFF)
          file_.push_back(std::byte{0});
      }
    }
  }
  /// Symbol `size`, and the highest value of so many bits.
  void put_dc(int size) {
    put(static_cast<unsigned>(size), 4);
    put(0xFFFF, size);
  }
  void put_ac(unsigned symbol) { put(ac_[symbol], 8); }

  /// Ends it; its one place is its beginning.
  surveyed_file finish() {
    while (bits_ % 8 != 0)
      put(1, 1);
    file_.insert(file_.end(), {std::byte{0xFF}, std::byte{0xD9}});
    return {file_, {}, {work_place{}}};
  }

private:
  /// Times 2047 it is -32 in 16 bits, so that high coefficients become low ones.
  static constexpr std::byte dc_factor{32};

  std::vector<std::byte> file_;
  std::array<unsigned, 256> ac_{};
  unsigned byte_ = 0;
  int bits_ = 0;
};

constexpr unsigned end_of_block = 0;
constexpr unsigned sixteen_zeros = 0xF0;

host_decoder::counts decode_all(const surveyed_file& x, std::size_t blocks) {
  host_decoder decoder;
  const resize_plan what{{0, 0, 8 * blocks, 8}, {8 * blocks, 8}, {0, 0, 8 * blocks, 8}};
  REQUIRE(decoder.add(x, what, {.type = dtype::u8}, "a written scan"));
  decoder.flush();
  CHECK(decoder.problems() == "");
  return decoder.result();
}

} // namespace

TEST_CASE("DC coefficients beyond 16 bits are told") {
  for (const std::size_t blocks : {16, 17}) { // 16 * 2047 = 32752
    written_scan x(blocks);
    for (std::size_t i = 0; i < blocks; ++i) {
      x.put_dc(11);
      x.put_ac(end_of_block);
    }
    CHECK(decode_all(x.finish(), blocks).equal == (blocks == 16 ? 1 : 0));
  }
}

TEST_CASE("coefficients beyond number 63 are told") {
  for (const int runs : {3, 4}) {
    written_scan x(1);
    x.put_dc(3);
    for (int i = 0; i < runs; ++i)
      x.put_ac(sixteen_zeros);
    if (runs == 3)
      x.put_ac(end_of_block);
    CHECK(decode_all(x.finish(), 1).equal == (runs == 3 ? 1 : 0));
  }
}

TEST_CASE("a code that no symbol has is told") {
  for (const bool has_none : {false, true}) {
    written_scan x(1);
    x.put_dc(3);
    if (has_none)
      x.put(0xFE, 8);
    x.put_ac(end_of_block);
    CHECK(decode_all(x.finish(), 1).equal == (has_none ? 0 : 1));
  }
}

} // namespace leat::device_damage_test
