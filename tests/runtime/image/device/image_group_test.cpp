#include "runtime/image/device/image_group.hpp"
#include "runtime/image/device/kernel_launch.hpp"
#include "tests/support/host_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <cstring>
#include <deque>

namespace leat::image_group_test {

using namespace leat::test;

namespace {

using added = image_group::added;

/// A file, all that a group needs of it, and room for its pixels.
struct small_file {
  explicit small_file(const jpeg_kind& kind = {.horizontal = 2, .vertical = 2})
      : file(write_jpeg(100, 80, kind)) {
    decoder.open(file, no_limit);
    places = decoder.survey(&by_work);
    frame = decoder.scale(dct_scale_for(what));
  }

  group_image image() {
    return {.file = file,
            .frame = &frame,
            .places = by_work,
            .plan = &what,
            .form = &form,
            .pixels = pixels.data()};
  }
  std::vector<std::byte> wanted() {
    std::vector<std::byte> to(pixels.size());
    image_reader reader;
    reader.open(file, no_limit);
    reader.make(what, form, to.data());
    return to;
  }

  std::vector<std::byte> file;
  resize_plan what{{7, 9, 80, 60}, {50, 40}, {0, 0, 50, 40}, true};
  tensor_form form{.type = dtype::u8};
  plane_decoder decoder;
  std::vector<scan_place> places;
  std::vector<work_place> by_work;
  jpeg_frame frame;
  std::vector<std::byte> pixels = std::vector<std::byte>(50 * 40 * 3, std::byte{1});
};

/// Memory of exactly such sizes, the host's and the device's.
struct memory {
  memory(std::size_t staging_bytes, std::size_t scratch_bytes)
      : staging(staging_bytes), scratch(scratch_bytes), group(staging, scratch_bytes) {}

  void run() { run_on_host(group.seal(staging.data(), scratch.data())); }
  std::uint32_t told(std::size_t i) const {
    return reinterpret_cast<const std::uint32_t*>(scratch.data() + group.told_offset())[i];
  }

  aligned_vector<std::byte> staging;
  aligned_vector<std::byte> scratch;
  image_group group;
};

constexpr std::size_t ample = std::size_t{4} << 20;

/// The least scratch that an image fits alone.
std::size_t least_scratch(small_file& x) {
  std::size_t low = 0;
  std::size_t high = ample;
  while (high - low > 1) {
    const auto middle = (low + high) / 2;
    memory on(ample, middle);
    (on.group.add(x.image()) == added::yes ? high : low) = middle;
  }
  return high;
}

std::size_t least_staging(small_file& x) {
  memory on(ample, ample);
  on.group.add(x.image());
  return on.group.bytes_to_copy();
}

} // namespace

TEST_CASE("a group takes images as long as they fit, and then says that it is full") {
  small_file x;
  for (const bool by_staging : {false, true}) {
    memory on(by_staging ? 5 * least_staging(x) / 2 : ample,
              by_staging ? ample : 5 * least_scratch(x) / 2);
    for (int round = 0; round < 2; ++round) {
      CHECK(on.group.add(x.image()) == added::yes);
      CHECK(on.group.add(x.image()) == added::yes);
      auto answer = added::yes;
      while (answer == added::yes)
        answer = on.group.add(x.image());
      CHECK(answer == added::full);
      CHECK(on.group.size() < 5);
      on.run();
      CHECK((x.pixels == x.wanted()));
      CHECK(on.told(0) + on.told(1) == 0);
      on.group.clear();
      CHECK(on.group.size() == 0);
    }
  }
}

TEST_CASE("an image that fits no group is the processor's") {
  small_file x;
  const auto staging = least_staging(x);
  const auto scratch = least_scratch(x);
  memory exact(staging, scratch);
  CHECK(exact.group.add(x.image()) == added::yes);
  CHECK(exact.group.bytes_to_copy() == staging);
  exact.run();
  CHECK((x.pixels == x.wanted()));
  for (const auto& [less_staging, less_scratch] : {std::pair{1, 0}, {0, 1}}) {
    memory less(staging - static_cast<std::size_t>(less_staging),
                scratch - static_cast<std::size_t>(less_scratch));
    CHECK(less.group.add(x.image()) == added::no);
    CHECK(less.group.why() == cpu_reason::too_large);
    CHECK(less.group.size() == 0);
  }
}

namespace {

/// Decodes the planes of the last image by libjpeg, whole and at full size.
void make_planes(small_file& x, const device_image& image, std::byte* samples) {
  plane_decoder decoder;
  decoder.open(x.file, no_limit);
  const auto& frame = decoder.scale(jpeg_frame::block);
  decoder.start(plane_decoder::way::libjpeg, {0, 0, frame.mcus_across(), frame.mcus_down()});
  for (std::size_t mcu_row = 0; mcu_row < frame.mcus_down(); mcu_row += frame.rows_at_once) {
    plane_strip strip;
    REQUIRE(decoder.next(strip));
    for (std::size_t c = 0; c < frame.num_components; ++c) {
      const auto& to = image.components[c];
      const auto& from = strip.planes[c];
      const auto size = frame.coded_size(c);
      REQUIRE(to.columns * to.each >= size.width);
      for (std::size_t y = 0; y < from.count && from.first + y < size.height; ++y)
        std::memcpy(samples + to.first_sample + (from.first + y) * to.columns * to.each,
                    from.data + y * from.stride, size.width);
    }
  }
}

} // namespace

TEST_CASE("planes that others make become the processor's pixels, of files of all kinds") {
  const jpeg_kind kinds[] = {{.components = 1},
                             {.components = 1, .horizontal = 2, .vertical = 2},
                             {},
                             {.horizontal = 2, .restart = 3},
                             {.horizontal = 2, .vertical = 2, .progressive = true},
                             {.vertical = 2, .optimized = true},
                             {.horizontal = 4}};
  aligned_vector<std::byte> staging(ample);
  aligned_vector<std::byte> scratch(ample);
  image_group group{staging, ample, planes_by::others};
  for (int round = 0; round < 2; ++round) {
    std::deque<small_file> all;
    for (const auto& kind : kinds) {
      auto& x = all.emplace_back(kind);
      auto image = x.image();
      image.places = {};
      REQUIRE(group.add(image) == added::yes);
      make_planes(x, group.last(), scratch.data());
    }
    small_file rgb{{.rgb = true}};
    CHECK(group.add(rgb.image()) == added::no);
    CHECK(group.why() == cpu_reason::not_for_nvjpeg);
    small_file cmyk{{.components = 4}};
    CHECK(group.add(cmyk.image()) == added::no);
    CHECK(group.why() == cpu_reason::components);
    const auto sealed = group.seal(staging.data(), scratch.data());
    for (const auto& launch : launches_of(sealed)) {
      CHECK(launch.which != kernel::tables);
      CHECK(launch.which != kernel::decode);
      CHECK(launch.which != kernel::transform);
    }
    run_on_host(sealed);
    for (auto& x : all)
      CHECK((x.pixels == x.wanted()));
    group.clear();
  }
}

TEST_CASE("nothing is written for an image that is withdrawn") {
  const color_jitter_factors none;
  for (const auto* jitter : {static_cast<const color_jitter_factors*>(nullptr), &none}) {
    small_file x;
    small_file y;
    const auto before = x.pixels;
    memory on(ample, ample);
    auto withdrawn = x.image();
    withdrawn.jitter = jitter;
    REQUIRE(on.group.add(withdrawn) == added::yes);
    REQUIRE(on.group.add(y.image()) == added::yes);
    on.group.withdraw(0);
    CHECK(on.group.size() == 2);
    on.run();
    CHECK((x.pixels == before));
    CHECK((y.pixels == y.wanted()));
  }
}

TEST_CASE("an image that is refused leaves no trace in its group") {
  small_file good;
  small_file bad{{.horizontal = 2, .vertical = 2, .restart = 3}};
  memory on(ample, ample);
  REQUIRE(on.group.add(good.image()) == added::yes);
  const auto bytes = on.group.bytes_to_copy();
  CHECK(on.group.add(bad.image()) == added::no);
  auto without_places = good.image();
  without_places.places = {};
  CHECK(on.group.add(without_places) == added::no);
  CHECK(on.group.why() == cpu_reason::no_places);
  CHECK(on.group.bytes_to_copy() == bytes);
  CHECK(on.group.size() == 1);
  on.run();
  CHECK((good.pixels == good.wanted()));
}

TEST_CASE("what follows an image in its file is not copied") {
  small_file x;
  x.what = {{0, 0, 100, 80}, {50, 40}, {0, 0, 50, 40}};
  const auto bytes = least_staging(x);
  const auto wanted = x.wanted();
  x.file.insert(x.file.end(), 1000000, std::byte{0xFF});
  x.file.insert(x.file.end(), {std::byte{0xFF}, std::byte{0xD9}});
  x.decoder.open(x.file, no_limit);
  x.places = x.decoder.survey(&x.by_work);
  x.frame = x.decoder.scale(8);
  memory on(bytes, ample);
  REQUIRE(on.group.add(x.image()) == added::yes);
  on.run();
  CHECK(on.told(0) == 0);
  CHECK((x.pixels == wanted));
}

TEST_CASE("places of another file are refused or told, and nothing is read or written beyond") {
  seeded_random random;
  small_file x;
  const auto wanted = x.wanted();
  const auto clean = x.by_work;
  int refused = 0;
  int told = 0;
  for (int i = 0; i < (sanitized ? 300 : 3000); ++i) {
    x.by_work = clean;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      auto& place = x.by_work[random() % x.by_work.size()];
      switch (random() % 4) {
      case 0:
        place.bit = random() % 2 == 0 ? random() : random() % (8 * x.frame.scan.size());
        break;
      case 1:
        place.dc[random() % 3] = static_cast<std::int16_t>(random());
        break;
      case 2:
        place.column = static_cast<std::uint16_t>(random() % 10);
        break;
      default:
        x.by_work.resize(random() % x.by_work.size() + 1);
      }
    }
    memory on(x.file.size() + 20000, 600000);
    if (on.group.add(x.image()) != added::yes) {
      ++refused;
      CHECK(on.group.why() == cpu_reason::no_places);
      continue;
    }
    on.run();
    told += on.told(0) != 0 ? 1 : 0;
  }
  CHECK(refused > 0);
  CHECK(told > 0);
}

} // namespace leat::image_group_test
