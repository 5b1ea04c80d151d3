#include "tests/support/catch.hpp"
#include "tests/support/device_photographs.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <span>
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

bool is_run(std::uint64_t number) {
  return !sanitized || is_drawn(number);
}

} // namespace

TEST_CASE("device_decoding: batches are those of the processors, for every policy and number of "
          "workers") {
  std::uint64_t number = 0;
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute}) {
    loader here{images(), decoding_options("none", 2, policy)};
    const auto expected = batches_of(here);
    REQUIRE(expected.size() == 12);
    const auto is_bad = [](const seen_batch& x) { return !x.bad.empty(); };
    CHECK(std::count_if(expected.begin(), expected.end(), is_bad) >= 6);
    for (const std::size_t workers : {0, 1, 3})
      for (const auto* decoder : {"device", "cpu"}) {
        if (!is_run(number++))
          continue;
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

TEST_CASE("device_decoding: a bad row that others follow is made again where it disturbs none") {
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute})
    for (const std::size_t workers : {0, 1, 2}) {
      if (!is_run(workers))
        continue;
      CAPTURE(workers, policy == bad_sample_policy::mask);
      const auto data = images({.in_order = true});
      loader here{data, decoding_options("none", 0, policy)};
      loader there{data, decoding_options("device", workers, policy)};
      CHECK(batches_of(there) == batches_of(here));
    }
}

TEST_CASE("device_decoding: every type and layout of pixels, with hashes of what is there") {
  std::uint64_t number = 0;
  for (const auto type : {dtype::u8, dtype::f16, dtype::bf16, dtype::f32})
    for (const auto layout : {image_layout::nchw, image_layout::nhwc}) {
      if (!is_run(number++))
        continue;
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
  constexpr std::size_t above_crops[] = {4, 16, 30, 41}; // where whoever knows places does not look
  const photographs spoiled{true, above_crops};
  for (const bool has_noise : {false, true})
    for (const bool is_last : {false, true}) {
      CAPTURE(has_noise, is_last);
      loader here{adjusted_images(has_noise, is_last, spoiled), decoding_options("none", 2)};
      loader there{adjusted_images(has_noise, is_last, spoiled), decoding_options("device", 2)};
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

TEST_CASE("device_decoding: whatever later maps do with an image, a bad one is bad") {
  const auto ones = [](sample& s) {
    std::fill_n(s.make<float>("image", {3, 64, 64}).data(), 3 * 64 * 64, 1.0F);
  };
  const auto read = [](sample& s) {
    s.set("first", static_cast<double>(s.view<float, 3>("image")(0, 0, 0)));
  };
  const map_stage catches = {"read@1", "", [=] {
                               return [=](sample& s, context&) {
                                 s.set("first", 0.0);
                                 if (!is_damaged(s.id())) // what is read first is made at once
                                   return;                // from then on
                                 try {
                                   read(s);
                                 } catch (const std::exception&) {
                                   s.set("first", -1.0);
                                 }
                               };
                             }};
  const map_stage replaces = {"ones@1", "", [=] {
                                return [=](sample& s, context& in) {
                                  if (in.position() % 2 == 0)
                                    ones(s);
                                };
                              }};
  const map_stage removes = {"ones@1", "", [=] {
                               return [=](sample& s, context&) {
                                 s.erase("image");
                                 ones(s);
                               };
                             }};
  const map_stage makes = {"ones@1", "", [=] { return [=](sample& s, context&) { ones(s); }; }};
  const auto together = [](auto each) {
    map_stage all{.name = "all@1"};
    all.make_together = [=] {
      return [=](std::span<sample* const> samples, std::span<context> in) {
        for (std::size_t i = 0; i < samples.size(); ++i)
          each(*samples[i], in[i]);
      };
    };
    return all;
  };
  const auto reads_some = together([=](sample& s, context& in) {
    s.set("first", 0.0);
    if (in.position() % 5 == 0)
      read(s);
  });
  const auto fails_for_some = together([](sample& s, context&) {
    if (s.get<std::int64_t>("label") == 3)
      throw bad_sample(cause::function_error, "as meant");
  });
  const std::vector<std::vector<map_stage>> cases = {{catches},
                                                     {replaces},
                                                     {removes},
                                                     {select({"label", "note"}), makes},
                                                     {reads_some},
                                                     {fails_for_some},
                                                     {fails_for_some, catches}};
  std::uint64_t number = 0;
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute})
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (const std::size_t workers : {0, 2}) {
        if (!is_run(number++))
          continue;
        CAPTURE(i, workers, policy == bad_sample_policy::mask);
        const auto data = images({.more = cases[i]});
        loader here{data, decoding_options("none", workers, policy)};
        loader there{data, decoding_options("device", workers, policy)};
        CHECK(batches_of(there) == batches_of(here));
      }
}

TEST_CASE("device_decoding: a loader without workers may go on, begin anew or end in the middle of "
          "a batch") {
  loader here{images(), decoding_options("none", 0)};
  const auto expected = batches_of(here);
  for (std::size_t calls = 0; calls < 24; ++calls) {
    if (!is_run(calls / 3))
      continue;
    CAPTURE(calls);
    auto with_hashes = decoding_options("device", 0);
    with_hashes.hash_pixels = true; // the device writes to the host's memory, too
    loader there{images(), with_hashes};
    std::vector<hash128> found;
    const auto run_on = [&] {
      while (auto x = there.next())
        found.push_back(x->digest());
    };
    {
      std::size_t left = calls;
      const patience limited{[&] { return left > 0 && left-- > 0; }, std::chrono::milliseconds{0}};
      const auto problem = problem_of(run_on);
      REQUIRE(problem);
      CHECK(problem->code() == errc::interrupted);
    }
    if (calls % 3 == 0)
      continue;
    if (calls % 3 == 1) {
      found.clear();
      there.rewind();
    }
    run_on();
    const auto is_equal = [](const hash128& x, const seen_batch& y) { return x == y.digest; };
    CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end(), is_equal));
  }
}

TEST_CASE("device_decoding: no image is decoded twice because workers come and go") {
  const auto images_of_all = [](const loader& x) {
    const auto told = x.stats().device.value().decoder.value();
    auto n = told.images;
    for (const auto& [why, on_cpu] : told.on_cpu)
      n += on_cpu;
    return n;
  };
  loader alone{images(), decoding_options("device", 1)};
  const auto expected = batches_of(alone);
  loader there{images(), decoding_options("device", 3)};
  std::vector<seen_batch> found;
  while (auto x = there.next()) {
    found.push_back(look(x));
    there.resize_workers(1 + found.size() % 3);
  }
  CHECK(found == expected);
  CHECK(images_of_all(there) == images_of_all(alone));
}

TEST_CASE("device_decoding: workers do not die over rows that wait") {
  loader here{images(), decoding_options("none", 1)};
  auto with_deaths = decoding_options("device", 1);
  with_deaths.fault = drill({.deaths = {{0, 20}, {0, 21}, {0, 22}, {0, 23}}});
  loader there{images(), with_deaths};
  CHECK(batches_of(there) == batches_of(here));
  CHECK(there.stats().workers_replaced == 4);
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
