#include "runtime/image/image_reader.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/sample_access.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"

#include <leat/bad_sample.hpp>
#include <leat/sources.hpp>

#include "tools/leat/bench/plain_image.hpp"
#include "tools/leat/job_options.hpp"

#include <cmath>
#include <cstring>

namespace leat::plain_image_test {

using namespace leat::test;
using command::plain_image;

namespace {

constexpr std::size_t max_pixels = 1 << 24;
constexpr image_size size{301, 203};

/// Crops, the whole image, enlarged and reduced, a window of it.
const std::vector<resize_plan> plans{
    {{31, 17, 200, 150}, {96, 64}, {0, 0, 96, 64}, false},
    {{100, 90, 40, 30}, {96, 64}, {0, 0, 96, 64}, true},
    {{0, 0, size.width, size.height}, {150, 101}, {27, 5, 96, 64}, false},
    {{0, 0, size.width, size.height}, {11, 9}, {0, 0, 11, 9}, true},
};

template <class T>
std::vector<T> plain_pixels(plain_image& by, std::span<const std::byte> file,
                            const resize_plan& what) {
  std::vector<T> to(3 * what.window.width * what.window.height);
  REQUIRE(by.open(file) == size);
  by.make(what, {.type = dtype_of<T>()}, reinterpret_cast<std::byte*>(to.data()));
  return to;
}

template <class T>
std::vector<T> exact_pixels(std::span<const std::byte> file, const resize_plan& what) {
  std::vector<T> to(3 * what.window.width * what.window.height);
  image_reader by;
  by.open(file, max_pixels);
  by.make_exact(what, {.type = dtype_of<T>()}, reinterpret_cast<std::byte*>(to.data()));
  return to;
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

std::vector<float> map_image(const map_stage& stage, std::span<const std::byte> file,
                             std::uint64_t sample_key) {
  sample x;
  sample_access::reset(x, nullptr);
  x.set("jpeg", file);
  context chance{rng(9, sample_key), 0, sample_key, 1, nullptr};
  stage.make()(x, chance);
  const auto bytes = x.bytes("image");
  REQUIRE(x.fields() == std::vector<std::string>{"image"});
  std::vector<float> result(bytes.size() / sizeof(float));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

} // namespace

TEST_CASE("plain_image: pixels are those of the exact reference, but for rounding") {
  plain_image by;
  for (const auto& kind :
       {jpeg_kind{}, jpeg_kind{.horizontal = 2, .vertical = 2}, jpeg_kind{.horizontal = 2},
        jpeg_kind{.components = 1}, jpeg_kind{.horizontal = 2, .vertical = 2, .progressive = true},
        jpeg_kind{.components = 4}}) {
    CAPTURE(to_string(kind));
    // CMYK is rounded to R, G, B first, in another way.
    const double once = kind.components == 4 ? 1 : 0;
    const auto file = write_jpeg(size.width, size.height, kind);
    for (const auto& what : plans) {
      const auto floats = plain_pixels<float>(by, file, what);
      REQUIRE(255 * largest_difference(floats, exact_pixels<float>(file, what)) < once + 0.001);
      const auto bytes = plain_pixels<std::uint8_t>(by, file, what);
      REQUIRE(largest_difference(bytes, exact_pixels<std::uint8_t>(file, what)) <= once + 1);
    }
  }
}

TEST_CASE("plain_image: a broken file is a bad sample, and leaves no trace in the next") {
  plain_image by;
  const auto file = write_jpeg(size.width, size.height);
  const auto good = plain_pixels<float>(by, file, plans[0]);
  REQUIRE_THROWS_AS(by.open(std::span{file}.first(100)), bad_sample);
  REQUIRE_THROWS_AS(by.open({}), bad_sample);
  REQUIRE(plain_pixels<float>(by, file, plans[0]) == good);
}

TEST_CASE("plain_image: the maps cut and mirror as leat's do") {
  const image_options form{.size = 64};
  const auto file = write_jpeg(size.width, size.height, {.horizontal = 2, .vertical = 2});
  auto mean_difference = [&](const map_stage& a, const map_stage& b, std::uint64_t sample_key) {
    const auto x = map_image(a, file, sample_key);
    const auto y = map_image(b, file, sample_key);
    REQUIRE(x.size() == y.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += std::abs(x[i] - y[i]) * 255 * 0.225;
    return sum / static_cast<double>(x.size());
  };
  const auto field = "jpg;jpeg";
  for (std::uint64_t sample_key = 0; sample_key < 20; ++sample_key)
    REQUIRE(mean_difference(train_image(field, form), command::plain_train_image(field, form),
                            sample_key)
            < 1.5);
  REQUIRE(mean_difference(eval_image(field, form), command::plain_eval_image(field, form), 0)
          < 1.5);
}

TEST_CASE("plain_image: maps keep name and parameters, and refuse what they do not make") {
  const auto own = train_image("jpg", {});
  const auto plain = command::plain_train_image("jpg");
  REQUIRE(plain.name == own.name);
  REQUIRE(plain.parameters == own.parameters);
  REQUIRE_THROWS_AS(command::plain_eval_image("jpg", {.layout = image_layout::nhwc}), error);
  REQUIRE_THROWS_AS(command::plain_train_image("jpg", {.size = 0}), error);
}

TEST_CASE("plain_job: only maps of the standard transforms are replaced") {
  const auto data = count(10);
  REQUIRE_FALSE(command::plain_job(data.batch(2)));
  REQUIRE_FALSE(command::plain_job(data.map(train_image("jpg", {})).batch(2)));
  const auto job = data.shuffle().map(train_image("jpg;jpeg")).map(int_label("cls")).batch(2);
  const auto plain = command::plain_job(job);
  REQUIRE(plain);
  REQUIRE(same_operators(plain->root(), job.root()));
}

} // namespace leat::plain_image_test
