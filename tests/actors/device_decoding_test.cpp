#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/places.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>
#include <leat/row_index.hpp>
#include <leat/testing.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Whole loaders that decode on the driver that stands in for CUDA's, which runs the kernels' bodies
// on the host: see tests/shim/fake_cuda.cpp.

namespace leat::test::device_decoding_test {
namespace {

namespace fs = std::filesystem;

[[maybe_unused]] const int is_random = ::setenv("LEAT_FAKE_CUDA", "mode=random", 1);
[[maybe_unused]] const int has_kernels =
    ::setenv("LEAT_CUDA_MODULE", (std::string{fake_cuda_dir} + "/libleat_cuda.so").c_str(), 1);

/// A stream of CUDA's own: the legacy default stream.
void* const default_stream = reinterpret_cast<void*>(1);

std::string text_of(const std::vector<std::byte>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

/// Files of all kinds that the processor decodes, half of them plain; with some that are damaged
/// after they were indexed, so that only who decodes them knows.
class photographs {
public:
  static constexpr std::size_t num_images = 48;

  photographs() {
    for (std::size_t shard = 0; shard < 2; ++shard) {
      tar_writer tar;
      for (std::size_t i = 0; i < num_images / 2; ++i) {
        const auto n = shard * num_images / 2 + i;
        const auto key = "image" + std::to_string(100 + n);
        tar.file(key + ".jpg", file(n)).file(key + ".cls", std::to_string(n % 10));
      }
      const auto path = shard_at(shard);
      tar.end().save(path);
      const auto time = fs::last_write_time(path);
      (void)build_row_index(source());
      auto bytes = content_of(path);
      for (const auto n : damaged)
        if (const auto at = bytes.find("image" + std::to_string(100 + n) + ".jpg");
            at != std::string::npos)
          for (const std::size_t beyond : {5'003, 5'507, 6'011}) // of the header
            bytes[at + beyond] = static_cast<char>(bytes[at + beyond] ^ 0x55);
      write_content(path, bytes);
      fs::last_write_time(path, time);
    }
  }

  pipeline source() const { return tar_shards(directory_ / "part-*.tar"); }

  static constexpr std::size_t damaged[] = {4, 17, 30, 41};

private:
  std::string shard_at(std::size_t x) const {
    return directory_ / ("part-" + std::to_string(x) + ".tar");
  }

  static std::string file(std::size_t n) {
    const auto seed = static_cast<std::uint32_t>(n);
    const auto width = 150 + 7 * n % 90, height = 120 + 11 * n % 100;
    const auto jpeg = [&](const jpeg_kind& kind) {
      return text_of(write_jpeg(width, height, kind, seed));
    };
    switch (n % 12) {
    case 1:
      return jpeg({.components = 1});
    case 2:
      return jpeg({.horizontal = 2, .vertical = 2});
    case 3:
      return jpeg({.progressive = true});
    case 5:
      return jpeg({.horizontal = 2, .quality = 60});
    case 6: {
      const auto png = write_png(width, height, {}, seed);
      return {reinterpret_cast<const char*>(png.data()), png.size()};
    }
    case 7:
      return jpeg({.restart = 8});
    case 8:
      return jpeg({.optimized = true});
    case 9:
      return jpeg({.components = 4});
    case 10: {
      auto torn = jpeg({});
      torn.resize(torn.size() / 3);
      return torn;
    }
    default:
      return jpeg({});
    }
  }

  temporary_directory directory_;
};

const photographs& data() {
  static const photographs all;
  return all;
}

struct chosen {
  image_options image = {.size = 64};
  bool reads_pixels = false;
  std::vector<map_stage> more = {};
};

pipeline images(const chosen& x = {}) {
  auto all =
      data().source().shuffle({.seed = 5}).map(train_image("jpg", x.image)).map(int_label("cls"));
  // Of a length of its own: what takes a bad sample's row has another one.
  all = all.map("note@1", [](sample& s, context&) {
    const auto n = static_cast<std::size_t>(s.get<std::int64_t>("label"));
    s.set("note", std::string(3 * n, 'n') + s.id());
  });
  if (x.reads_pixels)
    all = all.map("mean@1", [](sample& s, context& in) {
      if (in.position() % 3 == 0) // not of all
        s.set("first", static_cast<double>(s.view<float, 3>("image")(0, 0, 0)));
      else
        s.set("first", 0.0);
    });
  for (const auto& stage : x.more)
    all = all.map(stage);
  return all.batch(8, {.end = epoch_end::mask});
}

/// All that a trainer can see of a batch, with its pixels as they lie on the device.
struct seen {
  std::vector<std::string> ids;
  std::vector<std::uint8_t> valid;
  hash128 digest;
  std::string snapshot;
  std::vector<std::byte> pixels;
  std::vector<std::string> notes;
  std::vector<hash128> content;
  std::vector<std::pair<std::string, std::string>> bad;

  bool operator==(const seen&) const = default;
};

std::vector<std::byte> bytes_at(const void* from, std::size_t n) {
  const auto* at = static_cast<const std::byte*>(from);
  return {at, at + n};
}

seen look(lease& x) {
  seen all{.ids = x->ids(),
           .valid = {x->valid().begin(), x->valid().end()},
           .digest = x->digest(),
           .snapshot = x->snapshot(),
           .pixels = {},
           .notes = {},
           .content = x->content_hashes(),
           .bad = {}};
  const auto notes = x->ragged("note");
  for (std::size_t i = 0; i < x->size(); ++i)
    all.notes.emplace_back(notes.text(i));
  for (const auto& y : x->bad())
    all.bad.emplace_back(y.id, y.text + " " + y.substitute.value_or(""));
  if (x->is_on_device("image")) {
    x.on_device(default_stream);
    x.on_device_for_all(); // memory of the device is the host's here
    const auto there = x->device_field("image").values;
    std::size_t n = size_of(there.type);
    for (std::size_t d = 0; d < there.rank; ++d)
      n *= static_cast<std::size_t>(there.shape[d]);
    all.pixels = bytes_at(there.data, n);
  } else {
    const auto host = x->field("image").bytes();
    all.pixels.assign(host.begin(), host.end());
  }
  return all;
}

std::vector<seen> run(loader& from, std::size_t most = SIZE_MAX) {
  std::vector<seen> all;
  while (all.size() < most) {
    auto x = from.next();
    if (!x)
      break;
    all.push_back(look(x));
  }
  return all;
}

loader_options options(const std::string& decoder, std::size_t workers,
                       bad_sample_policy policy = bad_sample_policy::mask) {
  loader_options x{.workers = workers, .epochs = 2, .bad_samples = policy};
  if (decoder != "none") {
    x.device = "cuda";
    x.decoder = decoder;
  }
  return x;
}

std::uint64_t images_of(const decoder_stats& x, std::string_view why) {
  for (const auto& [reason, n] : x.on_cpu)
    if (reason == why)
      return n;
  return 0;
}

} // namespace

TEST_CASE("device_decoding: batches are those of the processors, for every policy and number of "
          "workers") {
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute}) {
    loader here{images(), options("none", 2, policy)};
    const auto expected = run(here);
    REQUIRE(expected.size() == 12);
    const auto is_bad = [](const seen& x) { return !x.bad.empty(); };
    CHECK(std::count_if(expected.begin(), expected.end(), is_bad) >= 6);
    for (const std::size_t workers : {0, 1, 3})
      for (const auto* decoder : {"device", "cpu"}) {
        CAPTURE(workers, decoder, policy == bad_sample_policy::mask);
        loader there{images(), options(decoder, workers, policy)};
        CHECK(run(there) == expected);
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
      auto with_hashes = options("none", 2);
      with_hashes.hash_pixels = true;
      loader here{data, with_hashes};
      const auto expected = run(here, 6);
      CHECK_FALSE(expected.front().content.empty());
      with_hashes = options("device", 2);
      with_hashes.hash_pixels = true;
      loader there{data, with_hashes};
      CHECK(run(there, 6) == expected);
    }
}

TEST_CASE("device_decoding: colours are adjusted and parts erased there, and noise is not") {
  const auto chain = [](bool has_noise, bool is_last) {
    std::vector<image_transform> steps{
        random_resized_crop({48, 56}), color_jitter(0.4, 0.3, 0.5, 0.1),
        random_horizontal_flip(0.5), normalize({0.5, 0.4, 0.3}, {0.2, 0.3, 0.4}),
        random_erasing({.p = 0.7, .value = {1, 2, 3}, .noise = has_noise})};
    if (is_last)
      std::swap(steps[1], steps[2]);
    return data()
        .source()
        .shuffle({.seed = 2})
        .map(decode_image("jpg", steps))
        .map("note@1", [](sample& s, context&) { s.set("note", s.id()); })
        .batch(8, {.end = epoch_end::mask});
  };
  for (const bool has_noise : {false, true})
    for (const bool is_last : {false, true}) {
      CAPTURE(has_noise, is_last);
      loader here{chain(has_noise, is_last), options("none", 2)};
      loader there{chain(has_noise, is_last), options("device", 2)};
      CHECK(run(there) == run(here));
      CHECK((there.stats().device->decoder->images > 40) == (is_last && !has_noise));
    }
}

TEST_CASE("device_decoding: a later map that reads pixels has them, and so has the batch") {
  for (const std::size_t workers : {0, 2}) {
    const auto data = images({.reads_pixels = true});
    loader here{data, options("none", workers)};
    loader there{data, options("device", workers)};
    CHECK(run(there) == run(here));
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
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute})
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (const std::size_t workers : {0, 2}) {
        CAPTURE(i, workers, policy == bad_sample_policy::mask);
        const auto data = images({.more = cases[i]});
        loader here{data, options("none", workers, policy)};
        loader there{data, options("device", workers, policy)};
        CHECK(run(there) == run(here));
      }
}

TEST_CASE("device_decoding: a loader without workers may go on, begin anew or end in the middle of "
          "a batch") {
  loader here{images(), options("none", 0)};
  const auto expected = run(here);
  for (std::size_t calls = 0; calls < 24; ++calls) {
    CAPTURE(calls);
    auto with_hashes = options("device", 0);
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
    const auto is_equal = [](const hash128& x, const seen& y) { return x == y.digest; };
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
  loader alone{images(), options("device", 1)};
  const auto expected = run(alone);
  loader there{images(), options("device", 3)};
  std::vector<seen> found;
  while (auto x = there.next()) {
    found.push_back(look(x));
    there.resize_workers(1 + found.size() % 3);
  }
  CHECK(found == expected);
  CHECK(images_of_all(there) == images_of_all(alone));
}

TEST_CASE("device_decoding: workers do not die over rows that wait") {
  loader here{images(), options("none", 1)};
  auto with_deaths = options("device", 1);
  with_deaths.fault = drill({.deaths = {{0, 20}, {0, 21}, {0, 22}, {0, 23}}});
  loader there{images(), with_deaths};
  CHECK(run(there) == run(here));
  CHECK(there.stats().workers_replaced == 4);
}

TEST_CASE("device_decoding: a resume on the other processor continues where it stopped") {
  loader whole{images(), options("none", 2)};
  const auto expected = run(whole);
  for (std::size_t at = 0; at < expected.size(); at += 2)
    for (const auto* decoder : {"cpu", "device"}) {
      CAPTURE(at, decoder);
      loader resumed{images(), options(decoder, 2)};
      if (at > 0)
        resumed.restore_parts({expected[at - 1].snapshot});
      auto next = resumed.next();
      REQUIRE(next);
      CHECK(look(next) == expected[at]);
    }
}

TEST_CASE("device_decoding: workers that die, rewinds, resizes and late leases change nothing") {
  auto with_deaths = options("device", 2);
  with_deaths.leases = 3;
  with_deaths.fault = drill({.deaths = {{0, 3}, {1, 14}, {0, 30}}});
  loader here{images(), options("none", 2)};
  const auto expected = run(here);
  loader there{images(), with_deaths};
  for (int pass = 0; pass < 4; ++pass) {
    std::deque<lease> held;
    std::vector<seen> found;
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
  loader there{images(), options("auto", 1)};
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
  CHECK(refused(count(9).batch(3), options("device", 0)).find("loader.decoder")
        != std::string::npos);
  CHECK(refused(images(), options("gpu", 0)).find("loader.decoder") != std::string::npos);
  auto nowhere = options("device", 0);
  nowhere.device = "cpu";
  CHECK(refused(images(), nowhere).find("loader.decoder") != std::string::npos);
}

} // namespace leat::test::device_decoding_test
