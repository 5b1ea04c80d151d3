#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scan_check.hpp"

#include <algorithm>
#include <vector>

namespace leat::work_places_test {

using namespace leat::test;

namespace {

struct survey {
  jpeg_frame frame;
  std::vector<scan_place> rows = {};
  std::vector<work_place> work = {};
};

survey survey_of(plane_decoder& by, std::span<const std::byte> file) {
  survey x{.frame = by.open(file, no_limit)};
  x.rows = by.survey(&x.work);
  return x;
}

/// The number of stretches that begin rows.
std::size_t rows_of(const std::vector<work_place>& x) {
  return static_cast<std::size_t>(
      std::count_if(x.begin(), x.end(), [](const auto& place) { return place.column == 0; }));
}

} // namespace

TEST_CASE("places by work are read back as they were written, and only for their file") {
  const auto file = write_jpeg(300, 200);
  plane_decoder decoder;
  const auto found = survey_of(decoder, file);
  REQUIRE(found.work.size() > 25); // rows
  const auto bytes = write_work_places(file, found.work);
  CHECK(bytes.size() == 16 + 10 * found.work.size());
  CHECK(are_whole_work_places(bytes));
  CHECK(are_whole_work_places({}));
  std::vector<work_place> read;
  REQUIRE(read_work_places(bytes, file, read));
  CHECK((read == found.work));
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{4};
    CHECK_FALSE(read_work_places(damaged, file, read));
    CHECK(read.empty());
    CHECK(are_whole_work_places(damaged) == (i < 8)); // the mark of the file
  }
  CHECK_FALSE(read_work_places(std::span{bytes}.first(15), file, read));
  CHECK_FALSE(read_work_places(std::span{bytes}.first(bytes.size() - 10), file, read));
  CHECK_FALSE(read_work_places(bytes, write_jpeg(300, 200, {}, 2), read));
  CHECK_FALSE(read_work_places({}, file, read));
}

TEST_CASE("places by work in no order are refused, though their seal is right") {
  const std::vector<std::byte> file(100);
  const auto is_read = [&](const std::vector<work_place>& places) {
    std::vector<work_place> read;
    const bool good = read_work_places(write_work_places(file, places), file, read);
    CHECK((read == (good ? places : std::vector<work_place>{})));
    return good;
  };
  CHECK(is_read({{0, {}, 0}, {5, {1, -2, 3}, 4}, {9, {}, 5}, {70, {-32768, 32767, 0}, 0}}));
  CHECK_FALSE(is_read({{0, {}, 1}}));
  CHECK_FALSE(is_read({{0, {}, 0}, {5, {}, 4}, {9, {}, 4}}));
  CHECK_FALSE(is_read({{0, {}, 0}, {5, {}, 4}, {9, {}, 3}}));
}

TEST_CASE("stretches of written files have the work that they may have, and begin where they say") {
  scan_check check;
  for (const int quality : {3, 50, 100})
    for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}})
      for (const auto& [width, height] : {std::pair{1UL, 1UL}, {90, 70}, {900, 40}}) {
        const jpeg_kind kind{.horizontal = across, .vertical = down, .quality = quality};
        CAPTURE(to_string(kind), width, height);
        const auto found = check.check(write_jpeg(width, height, kind), 3, 100'000);
        CHECK(found.problem.empty());
        CHECK(found.has_places);
      }
}

TEST_CASE("no two neighbours of a row could be one stretch, in photographs") {
  plane_decoder decoder;
  std::size_t files = 0;
  std::size_t stretches = 0;
  std::size_t bytes = 0;
  for (const auto& photo : photos_or_warning(sanitized ? 30 : 1000)) {
    const auto found = survey_of(decoder, photo);
    if (found.rows.empty()) {
      CHECK(found.work.empty());
      continue;
    }
    CHECK(decoder.survey() == found.rows);
    CHECK(rows_of(found.work) == found.frame.mcus_down());
    for (std::size_t i = 0; i + 2 < found.work.size(); ++i)
      if (found.work[i + 1].column != 0 && found.work[i + 2].column != 0)
        CHECK(found.work[i + 2].bit - found.work[i].bit > scan_decoder::bits_of_work);
    ++files;
    stretches += found.work.size();
    bytes += photo.size();
  }
  if (files == 0)
    return;
  UNSCOPED_INFO(files << " files, " << stretches << " stretches, " << bytes << " bytes");
  CHECK(stretches / files > 200);
  CHECK(stretches / files < 300);
}

TEST_CASE("files that have no row index have no places by work") {
  plane_decoder decoder;
  auto torn = write_jpeg(120, 90);
  torn[torn.size() / 2] = std::byte{0xFF};
  torn[torn.size() / 2 + 1] = std::byte{0xD9};
  for (const auto& file :
       {torn, write_jpeg(64, 64, {.restart = 3}), write_jpeg(64, 64, {.progressive = true})}) {
    const auto found = survey_of(decoder, file);
    CHECK(found.rows.empty());
    CHECK(found.work.empty());
  }
}

TEST_CASE("a row index stands for places by work, 16 MCUs a stretch") {
  plane_decoder decoder;
  auto found = survey_of(decoder, write_jpeg(300, 24)); // 38 MCUs a row
  std::vector<work_place> work;
  REQUIRE(as_work_places(found.frame, found.rows, work));
  REQUIRE(work.size() == 9);
  for (std::size_t i = 0; i < work.size(); ++i)
    CHECK((work[i]
           == work_place{found.rows[i].bit, found.rows[i].dc,
                         static_cast<std::uint16_t>(i % 3 * 16)}));
  found.rows.pop_back();
  CHECK_FALSE(as_work_places(found.frame, found.rows, work));
  CHECK(work.empty());
}

} // namespace leat::work_places_test
