#include "tests/support/catch.hpp"
#include "tests/support/device_photographs.hpp"
#include "tests/support/places.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/testing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Whole loaders that decode on the driver that stands in for CUDA's, which runs the kernels' bodies
// on the host: see tests/shim/fake_cuda.cpp.

namespace leat::test::device_decoding_test {
namespace {

[[maybe_unused]] const int is_random = ::setenv("LEAT_FAKE_CUDA", "mode=random", 1);
[[maybe_unused]] const int has_kernels =
    ::setenv("LEAT_CUDA_MODULE", (std::string{fake_cuda_dir} + "/libleat_cuda.so").c_str(), 1);

} // namespace

TEST_CASE("device_decoding: batches are those of the processors, for every policy and number of "
          "workers") {
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute}) {
    loader here{images(), decoding_options("none", 2, policy)};
    const auto expected = batches_of(here);
    REQUIRE(expected.size() == 12);
    const auto is_bad = [](const seen_batch& x) { return !x.bad.empty(); };
    CHECK(std::count_if(expected.begin(), expected.end(), is_bad) >= 6);
    for (const std::size_t workers : {0, 1, 3})
      for (const auto* decoder : {"device", "cpu"}) {
        CAPTURE(workers, decoder, policy == bad_sample_policy::mask);
        loader there{images(), decoding_options(decoder, workers, policy)};
        CHECK(batches_of(there) == expected);
        const auto told = there.stats().device.value().decoder;
        REQUIRE(told.has_value() == (std::string{decoder} == "device"));
        if (!told)
          continue;
        CHECK(told->images > 40);
        CHECK(told->groups > 0);
        CHECK(told->bytes > 0);
        for (const auto* why : {"no JPEG", "progressive or other than baseline", "damage"})
          CHECK(images_of(*told, why) > 0);
        CHECK(images_of(*told, "device busy") == 0);
      }
  }
}

TEST_CASE("device_decoding: every type and layout of pixels, with hashes of what is there") {
  for (const auto type : {dtype::u8, dtype::f16, dtype::bf16, dtype::f32})
    for (const auto layout : {image_layout::nchw, image_layout::nhwc}) {
      CAPTURE(to_string(type), layout == image_layout::nchw);
      const auto data = images({.image = {.size = 40, .type = type, .layout = layout}});
      auto with_hashes = decoding_options("none", 2);
      with_hashes.hash_pixels = true;
      loader here{data, with_hashes};
      const auto expected = batches_of(here, 6);
      CHECK_FALSE(expected.front().content.empty());
      with_hashes = decoding_options("device", 2);
      with_hashes.hash_pixels = true;
      loader there{data, with_hashes};
      CHECK(batches_of(there, 6) == expected);
    }
}

TEST_CASE("device_decoding: colours are adjusted and parts erased there, and noise is not") {
  for (const bool has_noise : {false, true})
    for (const bool is_last : {false, true}) {
      CAPTURE(has_noise, is_last);
      loader here{adjusted_images(has_noise, is_last), decoding_options("none", 2)};
      loader there{adjusted_images(has_noise, is_last), decoding_options("device", 2)};
      CHECK(batches_of(there) == batches_of(here));
      CHECK((there.stats().device->decoder->images > 40) == (is_last && !has_noise));
    }
}

TEST_CASE("device_decoding: a later map that reads pixels has them, and so has the batch") {
  for (const std::size_t workers : {0, 2}) {
    const auto data = images({.reads_pixels = true});
    loader here{data, decoding_options("none", workers)};
    loader there{data, decoding_options("device", workers)};
    CHECK(batches_of(there) == batches_of(here));
    CHECK(images_of(there.stats().device->decoder.value(), "pixels read by a later map") > 0);
  }
}

TEST_CASE("device_decoding: a resume on the other processor continues where it stopped") {
  loader whole{images(), decoding_options("none", 2)};
  const auto expected = batches_of(whole);
  for (std::size_t at = 0; at < expected.size(); at += 2)
    for (const auto* decoder : {"cpu", "device"}) {
      CAPTURE(at, decoder);
      loader resumed{images(), decoding_options(decoder, 2)};
      if (at > 0)
        resumed.restore_parts({expected[at - 1].snapshot});
      auto next = resumed.next();
      REQUIRE(next);
      CHECK(look(next) == expected[at]);
    }
}

TEST_CASE("device_decoding: workers that die, rewinds, resizes and late leases change nothing") {
  auto with_deaths = decoding_options("device", 2);
  with_deaths.leases = 3;
  with_deaths.fault = drill({.deaths = {{0, 3}, {1, 14}, {0, 30}}});
  loader here{images(), decoding_options("none", 2)};
  const auto expected = batches_of(here);
  loader there{images(), with_deaths};
  for (int pass = 0; pass < 4; ++pass) {
    std::deque<lease> held;
    std::vector<seen_batch> found;
    while (found.size() < (pass % 2 == 0 ? 5 : expected.size())) {
      auto x = there.next();
      REQUIRE(x);
      found.push_back(look(x));
      held.push_back(std::move(x));
      if (held.size() == 3) {
        std::thread{[last = std::move(held.front())]() mutable { last.reset(); }}.join();
        held.pop_front();
      }
    }
    CHECK(std::equal(found.begin(), found.end(), expected.begin()));
    there.rewind();
    there.resize_workers(1 + static_cast<std::size_t>(pass));
  }
  CHECK(there.stats().workers_replaced >= 2);
}

TEST_CASE("device_decoding: what was decoded there is not on the host, which is said") {
  loader there{images(), decoding_options("auto", 1)};
  auto x = there.next();
  REQUIRE(x);
  CHECK(x->is_on_device("image"));
  const auto problem = problem_of([&] { (void)x->view<float, 4>("image"); });
  REQUIRE(problem);
  CHECK(problem->code() == errc::wrong_field);
  CHECK(std::string{problem->what()}.find("decoder = \"cpu\"") != std::string::npos);
  CHECK(x->view<std::int64_t, 1>("label").size() > 0);

  const auto refused = [&](const pipeline& of, loader_options wrong) {
    return std::string{problem_of([&] {
                         loader made{of, std::move(wrong)};
                         (void)made.next();
                       })
                           .value()
                           .what()};
  };
  CHECK(refused(count(9).batch(3), decoding_options("device", 0)).find("loader.decoder")
        != std::string::npos);
  CHECK(refused(images(), decoding_options("gpu", 0)).find("loader.decoder") != std::string::npos);
  auto nowhere = decoding_options("device", 0);
  nowhere.device = "cpu";
  CHECK(refused(images(), nowhere).find("loader.decoder") != std::string::npos);
}

} // namespace leat::test::device_decoding_test
