#include "tests/support/catch.hpp"
#include "tests/support/device_photographs.hpp"
#include "tests/support/places.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/testing.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

// Whole loaders that decode by nvJPEG, over a driver and an nvJPEG that are made up: its planes are
// those of the processor, and so must pixels be. See tests/shim/fake_nvjpeg.cpp.

namespace leat::test::nvjpeg_decoding_test {
namespace {

[[maybe_unused]] const int is_random = ::setenv("LEAT_FAKE_CUDA", "mode=random", 1);
[[maybe_unused]] const int has_kernels =
    ::setenv("LEAT_CUDA_MODULE", (std::string{fake_cuda_dir} + "/libleat_cuda.so").c_str(), 1);
[[maybe_unused]] const int has_nvjpeg =
    ::setenv("LEAT_NVJPEG", (std::string{fake_cuda_dir} + "/libnvjpeg.so.13").c_str(), 1);

/// Words of the driver and of nvJPEG, as long as this lives.
class words {
public:
  explicit words(const std::string& x) {
    ::setenv("LEAT_FAKE_CUDA", ("mode=random," + x).c_str(), 1);
  }
  ~words() { ::setenv("LEAT_FAKE_CUDA", "mode=random", 1); }
  words(const words&) = delete;
  words& operator=(const words&) = delete;
};

const photographs& without_index() {
  static const photographs all{false};
  return all;
}

/// Fails at, or before, the first batch.
error failure_of(const loader_options& x) {
  return problem_of([&] {
           loader made{images(), x};
           (void)made.next();
         })
      .value();
}

} // namespace

TEST_CASE("nvjpeg_decoding: planes become the pixels that the processors make, with and without an "
          "index") {
  for (const auto* of : {&indexed_photographs(), &without_index()})
    for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute}) {
      loader here{images({.of = *of}), decoding_options("none", 2, policy)};
      const auto expected = batches_of(here);
      for (const std::size_t workers : {0, 1, 3}) {
        CAPTURE(workers, of == &without_index(), policy == bad_sample_policy::mask);
        loader there{images({.of = *of}), decoding_options("nvjpeg", workers, policy)};
        CHECK(batches_of(there) == expected);
        const auto told = there.stats().device.value().decoder.value();
        CHECK(told.by == "nvjpeg");
        CHECK(told.images > 60); // progressive ones and those with restart markers, too
        CHECK(told.groups > 0);
        CHECK(images_of(told, "no JPEG") > 0);
        CHECK(images_of(told, "CMYK or unusual sampling") > 0);
        CHECK(images_of(told, "not for nvJPEG") > 0); // damage, of which a processor judges
        CHECK(told.on_cpu.size() == 3);
      }
    }
}

TEST_CASE("nvjpeg_decoding: every type and layout of pixels, parts erased, later maps that read") {
  const auto compare = [](const chosen_images& x, bool hash_pixels) {
    auto options = decoding_options("none", 2);
    options.hash_pixels = hash_pixels;
    loader here{images(x), options};
    options = decoding_options("nvjpeg", 2);
    options.hash_pixels = hash_pixels;
    loader there{images(x), options};
    CHECK(batches_of(there, 6) == batches_of(here, 6));
  };
  for (const auto type : {dtype::u8, dtype::f16, dtype::bf16, dtype::f32})
    for (const auto layout : {image_layout::nchw, image_layout::nhwc}) {
      CAPTURE(to_string(type), layout == image_layout::nchw);
      compare({.image = {.size = 40, .type = type, .layout = layout}}, true);
    }
  compare({.reads_pixels = true}, false);
  loader here{adjusted_images(false, true), decoding_options("none", 2)};
  loader there{adjusted_images(false, true), decoding_options("nvjpeg", 2)};
  CHECK(batches_of(there) == batches_of(here));
  CHECK(there.stats().device->decoder->images > 60);
}

TEST_CASE("nvjpeg_decoding: workers that die, and a loader that ends early, leave nothing behind") {
  loader here{images(), decoding_options("none", 2)};
  const auto expected = batches_of(here);
  auto with_deaths = decoding_options("nvjpeg", 2);
  with_deaths.fault = drill({.deaths = {{0, 3}, {1, 14}, {0, 30}}});
  loader there{images(), with_deaths};
  CHECK(batches_of(there) == expected);
  CHECK(there.stats().workers_replaced >= 2);
  for (std::size_t n = 0; n < 4; ++n) {
    loader short_one{images(), decoding_options("nvjpeg", 2)};
    CHECK(batches_of(short_one, n).size() == n);
  }
}

TEST_CASE("nvjpeg_decoding: files that it refuses are the processor's") {
  loader here{images(), decoding_options("none", 2)};
  const auto expected = batches_of(here);
  for (const auto* refusal : {"nvjpeg_info=3", "nvjpeg_info=4", "nvjpeg_wider=1", "nvjpeg_decode=2",
                              "nvjpeg_decode=3", "nvjpeg_decode=4", "nvjpeg_decode=8",
                              "nvjpeg_decode=9", "nvjpeg_decode=10", "nvjpeg_decode=99"}) {
    CAPTURE(refusal);
    const words refuse{refusal};
    loader there{images(), decoding_options("nvjpeg", 2)};
    CHECK(batches_of(there) == expected);
    const auto told = there.stats().device.value().decoder.value();
    CHECK(told.images == 0);
    CHECK(images_of(told, "not for nvJPEG") > 60);
  }
}

TEST_CASE("nvjpeg_decoding: what is about the device is an error, with its code") {
  const auto text = [](const std::string& x) {
    const words fail{x};
    return std::string{failure_of(decoding_options("nvjpeg", 1)).what()};
  };
  for (const auto* call : {"nvjpeg_create", "nvjpeg_state", "nvjpeg_info", "nvjpeg_decode"})
    for (const auto& [code, name] :
         {std::pair{1, "NOT_INITIALIZED"}, {6, "EXECUTION_FAILED"}, {7, "ARCH_MISMATCH"}}) {
      const auto x = text(std::string{call} + '=' + std::to_string(code));
      CAPTURE(x);
      CHECK(x.starts_with("device: "));
      CHECK(x.find(std::string{"NVJPEG_STATUS_"} + name) != std::string::npos);
      CHECK(x.find("libnvjpeg.so.13 (nvJPEG 13.3.2, for CUDA 13.0") != std::string::npos);
    }
  for (const auto* call : {"nvjpeg_create=5", "nvjpeg_state=5", "nvjpeg_decode=5"})
    CHECK(text(call).starts_with("no resources: "));
}

TEST_CASE("nvjpeg_decoding: options without images, or without a device, are refused") {
  const auto refused = [&](const pipeline& of, const loader_options& x) {
    return std::string{problem_of([&] {
                         loader made{of, x};
                         (void)made.next();
                       })
                           .value()
                           .what()};
  };
  CHECK(refused(count(9).batch(3), decoding_options("nvjpeg", 0)).find("\"nvjpeg\", and no image")
        != std::string::npos);
  auto nowhere = decoding_options("nvjpeg", 0);
  nowhere.device = "cpu";
  CHECK(refused(images(), nowhere).find("\"nvjpeg\", and the device \"cpu\"") != std::string::npos);
}

TEST_CASE("nvjpeg_decoding: images that are made much smaller are decoded at full size") {
  const temporary_directory directory;
  tar_writer tar;
  for (std::size_t i = 0; i < 4; ++i)
    tar.file("image" + std::to_string(i) + ".jpg",
             content_text(write_jpeg(900 + 50 * i, 700, {.horizontal = 2, .vertical = 2},
                                     static_cast<std::uint32_t>(i))));
  tar.end().save(directory / "part-0.tar");
  const auto data = [&](bool is_exact) {
    image_options form{.size = 32, .type = dtype::u8};
    form.exact = is_exact;
    return tar_shards(directory / "part-*.tar").map(eval_image("jpg", form)).batch(4);
  };
  const auto pixels = [](loader& from) {
    auto x = from.next();
    std::vector<std::byte> found;
    if (x->is_on_device("image")) {
      x.on_device_for_all();
      found = bytes_at(x->device_field("image").values.data, 4 * 3 * 32 * 32);
    } else {
      const auto host = x->field("image").bytes();
      found.assign(host.begin(), host.end());
    }
    return found;
  };
  loader here{data(true), {}};
  loader there{data(false), {.device = "cuda", .decoder = "nvjpeg"}};
  const auto expected = pixels(here);
  const auto found = pixels(there);
  REQUIRE(found.size() == expected.size());
  double difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    difference += std::abs(std::to_integer<int>(found[i]) - std::to_integer<int>(expected[i]));
  CHECK(difference / static_cast<double>(found.size()) < 0.5); // what full size makes of them
  CHECK(there.stats().device.value().decoder.value().images == 4);
}

} // namespace leat::test::nvjpeg_decoding_test
