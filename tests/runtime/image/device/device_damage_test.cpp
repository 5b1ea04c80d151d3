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

TEST_CASE("coefficients that overflow are told") {
  // Factors of quantisation that are as high as can be make them of any values.
  host_decoder decoder;
  seeded_random random;
  for (int i = 0; i < 40; ++i) {
    auto x = subject_of(write_jpeg(64, 64, {.quality = 100}, random()));
    auto& file = x.clean.file;
    const auto table = find_marker(file, 0xDB);
    for (std::size_t k = 0; k < 64; ++k)
      file[table + 5 + k] = static_cast<std::byte>(128 + random() % 128);
    for (const std::size_t size : {64, 5, 3, 2}) {
      const resize_plan what{{0, 0, 64, 64}, {size, size}, {0, 0, size, size}};
      decoder.add(x.clean, what, {}, "file " + std::to_string(i));
    }
  }
  decoder.flush();
  INFO(decoder.result().text());
  CHECK(decoder.problems() == "");
  CHECK(decoder.result().told_good > 0);
}

} // namespace leat::device_damage_test
