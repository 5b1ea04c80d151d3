// The bodies of the kernels that decode JPEGs on a device, run on the host: image_reader's pixels.
#include "tests/support/drawn.hpp"
#include "tests/support/host_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <map>

namespace leat::kernels_test {

using namespace leat::test;

namespace {

constexpr std::size_t crops = 4;

/// Without places by work: with those of the row index in their stead.
surveyed_file surveyed(std::vector<std::byte> file, bool by_work) {
  plane_decoder decoder;
  decoder.open(file, no_limit);
  surveyed_file x;
  x.file = std::move(file);
  x.places = decoder.survey(&x.by_work);
  if (!by_work)
    x.by_work.clear();
  return x;
}

image_size size_of_image(std::span<const std::byte> file) {
  return plane_decoder{}.open(file, no_limit).size;
}

void check_all_equal(host_decoder& decoder) {
  decoder.flush();
  INFO(decoder.result().text());
  CHECK(decoder.problems() == "");
  CHECK(decoder.result().told_bad + decoder.result().told_good == 0);
  CHECK(decoder.result().all_refused() == 0);
}

/// Four random crops of a photograph in all forms; if drawn, in two of them each.
void add_crops(host_decoder& decoder, const surveyed_file& photo, std::size_t number) {
  static const auto all = forms();
  const bool some = sanitized || std::getenv("LEAT_CI_SEED") != nullptr;
  const auto size = size_of_image(photo.file);
  for (std::size_t crop = 0; crop < crops; ++crop) {
    const auto what = train_plan(size, static_cast<std::uint32_t>(crops * number + crop));
    for (std::size_t i = 0; i < all.size(); i += some ? all.size() / 2 : 1) {
      const auto form = (number + crop + i) % all.size();
      decoder.add(photo, what, all[form],
                  "photograph " + std::to_string(number) + ", form " + std::to_string(form) + ", "
                      + to_string(what));
    }
  }
}

std::vector<jpeg_kind> decoded_kinds() {
  using kind = jpeg_kind;
  std::vector kinds{kind{.horizontal = 2, .vertical = 2, .optimized = true},
                    kind{.optimized = true},
                    kind{.rgb = true},
                    kind{.horizontal = 4},
                    kind{.vertical = 4},
                    kind{.horizontal = 4, .vertical = 2},
                    kind{.components = 1, .horizontal = 2, .vertical = 2},
                    kind{.other_horizontal = 2, .other_vertical = 2},
                    kind{.horizontal = 2, .vertical = 2, .other_horizontal = 2},
                    kind{.dc_bits = 4},
                    kind{.dc_bits = 14},
                    kind{.ac_bits = 8},
                    kind{.horizontal = 2, .ac_bits = 10},
                    kind{.horizontal = 2, .vertical = 2, .ac_bits = 14},
                    kind{.dc_bits = 16, .ac_bits = 16}};
  for (const int quality : {30, 50, 75, 90, 100})
    for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}})
      kinds.push_back({.horizontal = across, .vertical = down, .quality = quality});
  for (const int quality : {30, 100})
    kinds.push_back({.components = 1, .quality = quality});
  return kinds;
}

constexpr std::pair<std::size_t, std::size_t> written_sizes[] = {
    {1, 1}, {2, 1}, {1, 3}, {5, 4}, {8, 8}, {17, 9}, {33, 47}, {501, 131}, {2000, 3}, {3, 2000}};

} // namespace

TEST_CASE("bodies of kernels give image_reader's pixels of photographs") {
  host_decoder decoder;
  std::size_t number = 0;
  for (auto& photo : photos_or_warning(sanitized ? 6 : 1000)) {
    if (++number; is_drawn(number))
      add_crops(decoder, surveyed(std::move(photo), number % 2 == 0), number);
  }
  check_all_equal(decoder);
  if (number != 0)
    WARN("photographs: " << decoder.result().text());
}

TEST_CASE("bodies of kernels give image_reader's pixels of photographs decoded at any size") {
  seeded_random random;
  host_decoder decoder;
  std::map<std::size_t, int> by_scale;
  std::size_t number = 0;
  const auto all = forms();
  for (auto& photo : photos_or_warning(sanitized ? 3 : 1000)) {
    if (++number; !is_drawn(number))
      continue;
    const auto x = surveyed(std::move(photo), number % 2 == 0);
    const auto size = size_of_image(x.file);
    std::vector<resize_plan> plans{eval_plan(size), tiny_plan(size, random),
                                   train_plan(size, static_cast<std::uint32_t>(number), 0.7, 16),
                                   random_plan(size, 300, random)};
    for (const std::size_t ratio : {5, 12, 24, 48})
      plans.push_back(thumbnail_plan(size, ratio));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      ++by_scale[dct_scale_for(plans[i])];
      decoder.add(x, plans[i], all[(number + i) % all.size()],
                  "photograph " + std::to_string(number) + ", " + to_string(plans[i]));
    }
  }
  check_all_equal(decoder);
  CHECK((by_scale.size() == 4 || number == 0));
}

TEST_CASE("bodies of kernels give image_reader's pixels of photographs that are written anew") {
  host_decoder decoder;
  seeded_random random;
  const auto all = forms();
  const auto photos = photos_or_warning(sanitized ? 2 : 60);
  std::size_t number = 0;
  for (const auto& kind : decoded_kinds())
    for (std::size_t i = 0; i < (sanitized ? 1 : 4) && !photos.empty(); ++i) {
      if (++number; !is_drawn(number))
        continue;
      const auto& photo = photos[random() % photos.size()];
      const auto size = size_of_image(photo);
      auto pixels = read_jpeg(photo);
      if (kind.components == 1)
        for (std::size_t p = 0; p < size.width * size.height; ++p)
          pixels[p] = pixels[3 * p];
      const auto x = surveyed(write_jpeg(pixels, size.width, size.height, kind), i % 2 == 0);
      for (std::uint32_t crop = 0; crop < crops; ++crop)
        decoder.add(x, train_plan(size, random()), all[random() % all.size()], to_string(kind));
    }
  check_all_equal(decoder);
}

TEST_CASE("bodies of kernels give image_reader's pixels of written files of any size") {
  seeded_random random;
  host_decoder decoder;
  const auto all = forms();
  std::size_t number = 0;
  for (const auto& kind : decoded_kinds())
    for (const auto& [width, height] : written_sizes) {
      if (++number; !is_drawn(number))
        continue;
      const auto x = surveyed(write_jpeg(width, height, kind), number % 2 == 0);
      const image_size size{width, height};
      std::vector<resize_plan> plans{tiny_plan(size, random),
                                     thumbnail_plan(size, 4 + random() % 9),
                                     thumbnail_plan(size, 10 + random() % 60)};
      for (int i = 0; i < (sanitized ? 1 : 6); ++i)
        plans.push_back(random_plan(size, 90, random));
      for (const auto& what : plans)
        decoder.add(x, what, all[random() % all.size()],
                    to_string(kind) + ", " + std::to_string(width) + " x " + std::to_string(height)
                        + ", " + to_string(what));
    }
  check_all_equal(decoder);
}

TEST_CASE("bodies of kernels saturate where sums leave their range") {
  // White right of a sharp edge. A part that begins within the first mean of white has a negative
  // weight for the black one before it, and so a sum beyond white.
  host_decoder decoder;
  constexpr std::size_t edge = 320;
  const image_size size{640, 640};
  std::vector<std::uint8_t> pixels(size.width * size.height);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = i % size.width < edge ? 0 : 255;
  const auto x = surveyed(
      write_jpeg(pixels, size.width, size.height, {.components = 1, .quality = 100}), true);
  for (std::size_t left = edge; left < edge + 8; ++left) {
    const resize_plan what{{left, 0, size.width - left, size.height}, {6, 13}, {0, 0, 6, 13}};
    CHECK(dct_scale_for(what) == 1);
    decoder.add(x, what, {}, to_string(what));
  }
  check_all_equal(decoder);
}

TEST_CASE("bodies of kernels erase parts of pixels") {
  seeded_random random;
  host_decoder decoder;
  const auto x = surveyed(write_jpeg(100, 80, {.horizontal = 2, .vertical = 2}), true);
  for (auto form : forms())
    for (int i = 0; i < 5; ++i) {
      const auto what = random_plan({100, 80}, 90, random);
      const erased_part erased{random_part({what.window.width, what.window.height}, random),
                               {0, 17, 255}};
      decoder.add(x, what, form, to_string(what), &erased);
    }
  check_all_equal(decoder);
}

TEST_CASE("bodies of kernels adjust colours") {
  seeded_random random;
  host_decoder decoder;
  rng draws(random(), 0);
  const color_jitter_ranges ranges{{{0.5, 1.5}}, {{0.5, 1.5}}, {{0.0, 2.0}}, {{-0.5, 0.5}}};
  auto photos = photos_or_warning(sanitized ? 2 : 20);
  photos.push_back(write_jpeg(100, 80, {.horizontal = 2, .vertical = 2}));
  photos.push_back(write_jpeg(33, 47, {.components = 1}));
  for (auto& photo : photos) {
    const auto x = surveyed(std::move(photo), true);
    const auto size = size_of_image(x.file);
    for (const auto& form : forms()) {
      auto factors = draw_color_jitter(ranges, draws);
      for (auto* factor :
           {&factors.brightness, &factors.contrast, &factors.saturation, &factors.hue})
        if (random() % 4 == 0)
          factor->reset();
      const auto what =
          random() % 2 == 0 ? train_plan(size, random(), 0.08, 61) : random_plan(size, 90, random);
      const erased_part erased{random_part({what.window.width, what.window.height}, random),
                               {0, 17, 255}};
      decoder.add(x, what, form, to_string(what), random() % 3 == 0 ? &erased : nullptr, &factors);
    }
  }
  check_all_equal(decoder);
}

TEST_CASE("a device leaves to the processor what it cannot decode, and says why") {
  using kind = jpeg_kind;
  const std::pair<kind, cpu_reason> cases[] = {
      {{.horizontal = 2, .vertical = 2, .restart = 3}, cpu_reason::restarts},
      {{.progressive = true}, cpu_reason::not_baseline},
      {{.components = 4}, cpu_reason::components},
      {{.dc_bits = 12}, cpu_reason::tables},
      {{.ac_bits = 12}, cpu_reason::tables}};
  host_decoder decoder;
  const resize_plan what{{0, 0, 75, 90}, {40, 30}, {0, 0, 40, 30}};
  for (const auto& [refused, reason] : cases) {
    CAPTURE(to_string(refused));
    CHECK_FALSE(decoder.add(surveyed(write_jpeg(75, 90, refused), true), what, {}, "refused"));
    CHECK(decoder.group().why() == reason);
    CHECK(decoder.result().of(reason) > 0);
  }
  CHECK(decoder.group().size() == 0);
}

} // namespace leat::kernels_test
