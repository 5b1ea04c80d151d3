#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>
#include <leat/testing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Whole loaders over the driver that stands in for CUDA's: see tests/shim/fake_cuda.cpp.

extern "C" unsigned long long leat_fake_cuda_count(int device, const char* what);

namespace leat::test::device_loader_test {
namespace {

[[maybe_unused]] const int has_two_devices = ::setenv("LEAT_FAKE_CUDA", "devices=2,mode=random", 1);

/// A stream of CUDA's own: the legacy default stream.
void* const default_stream = reinterpret_cast<void*>(1);

/// Dense, ragged and bytes fields; the sample at position 7 is bad.
pipeline samples(bool is_shuffled) {
  auto data = count(40);
  if (is_shuffled)
    data = data.shuffle_buffer(8, 3);
  return data
      .map("fields@1",
           [](sample& x, context& in) {
             const auto n = in.position();
             auto pixels = x.make<float>("pixels", {3, 4});
             for (std::size_t i = 0; i < 12; ++i)
               pixels[i] = static_cast<float>(100 * n + i);
             x.set("name", "sample " + std::to_string(n));
             if (n == 7)
               throw bad_sample(cause::corrupt, "the seventh");
           })
      .batch(6, {.lanes = 2, .end = epoch_end::mask});
}

/// All that a trainer can see of a batch.
struct seen {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::vector<std::string> ids;
  hash128 digest;
  std::string snapshot;
  std::vector<std::byte> pixels;

  bool operator==(const seen&) const = default;
};

seen look(lease& x) {
  seen all{x->epoch(), x->step(), x->ids(), x->digest(), x->snapshot(), {}};
  const auto host = x->field("pixels").bytes();
  all.pixels.assign(host.begin(), host.end());
  if (!x->is_on_device("pixels"))
    return all;
  CHECK_FALSE(x->is_on_device("name"));
  x.on_device(default_stream);
  x.on_device_for_all(); // memory of the device is the host's here
  const auto there = x->device_field("pixels");
  CHECK(there.values.where == device{2, 0});
  CHECK(there.values.data != host.data());
  CHECK(std::memcmp(there.values.data, host.data(), host.size()) == 0);
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

loader_options options(const std::string& device, std::size_t workers) {
  return {
      .workers = workers, .epochs = 2, .bad_samples = bad_sample_policy::mask, .device = device};
}

} // namespace

TEST_CASE("device_loader: batches, digests and snapshots are those of a loader without a device") {
  for (const bool is_shuffled : {false, true})
    for (const std::size_t workers : {0, 1, 3}) {
      CAPTURE(is_shuffled, workers);
      const auto data = samples(is_shuffled);
      loader alone{data, options("cpu", workers)};
      loader copied{data, options("cuda", workers)};
      const auto expected = run(alone);
      CHECK(expected.size() > 12);
      CHECK(run(copied) == expected);
      CHECK_FALSE(alone.stats().device);
      const auto told = copied.stats().device;
      REQUIRE(told);
      CHECK(told->batches == expected.size());
      CHECK(told->bytes
            == expected.size() * (expected.front().pixels.size() + 6 * sizeof(std::int64_t)));
      CHECK(told->is_pinned);
    }
}

TEST_CASE(
    "device_loader: a job that resumes, in either memory, continues as if it had not stopped") {
  const auto data = samples(true);
  loader whole{data, options("cpu", 2)};
  const auto expected = run(whole);
  for (std::size_t at = 0; at < expected.size(); ++at)
    for (const auto* device : {"cpu", "cuda:1"}) {
      CAPTURE(at, device);
      loader resumed{data, options(device, 2)};
      if (at > 0)
        resumed.restore_parts({expected[at - 1].snapshot});
      auto next = resumed.next();
      REQUIRE(next);
      CHECK(next->ids() == expected[at].ids);
      CHECK(next->snapshot() == expected[at].snapshot);
    }
}

TEST_CASE("device_loader: workers that die, rewinds and leases that others drop change nothing") {
  const auto data = samples(false);
  auto with_deaths = options("cuda", 2);
  with_deaths.leases = 3;
  with_deaths.fault = drill({.deaths = {{0, 3}, {1, 14}, {0, 30}}});
  loader alone{data, options("cpu", 2)};
  const auto expected = run(alone);
  loader copied{data, with_deaths};
  for (int pass = 0; pass < 3; ++pass) {
    std::deque<lease> held;
    std::vector<seen> found;
    while (found.size() < (pass == 0 ? 5 : expected.size())) {
      auto x = copied.next();
      REQUIRE(x);
      found.push_back(look(x));
      held.push_back(std::move(x));
      if (held.size() == 3) {
        std::thread{[last = std::move(held.front())]() mutable { last.reset(); }}.join();
        held.pop_front();
      }
    }
    CHECK(std::equal(found.begin(), found.end(), expected.begin()));
    copied.rewind();
  }
  CHECK(copied.stats().workers_replaced == 3);
}

TEST_CASE("device_loader: a lease outlives its loader, and its memory stays as it was") {
  lease held;
  seen before;
  {
    loader from{samples(false), options("cuda", 2)};
    held = from.next();
    before = look(held);
    (void)from.next();
  }
  CHECK(look(held) == before);
  held.reset();
}

TEST_CASE("device_loader: only the fields that are named go to the device, and errors say what "
          "there is") {
  const auto data = samples(false);
  auto some = options("cuda:1", 0);
  some.device_fields = {"pixels"};
  loader from{data, some};
  auto x = from.next();
  CHECK(x->is_on_device("pixels"));
  CHECK(x->device_field("pixels").values.where == device{2, 1});
  const auto pinned = leat_fake_cuda_count(1, "pinned_bytes");
  CHECK(pinned > 0);
  CHECK(pinned % x->field("pixels").bytes().size() == 0); // nothing of other fields
  const auto none_such = reinterpret_cast<void*>(0x12340);
  CHECK(code_of([&] { x.used_on(none_such); }) == errc::device);
  CHECK(code_of([&] { (void)x->device_field("name"); }) == errc::wrong_field);
  CHECK(code_of([&] { (void)x->device_field("nothing"); }) == errc::wrong_field);
  loader alone{data, options("cpu", 0)};
  auto host = alone.next();
  CHECK_FALSE(host->is_on_device("pixels"));
  CHECK(code_of([&] { host.on_device(default_stream); }) == errc::invalid_argument);
  CHECK(code_of([&] { (void)host->device_field("pixels"); }) == errc::invalid_argument);
  lease none;
  CHECK(code_of([&] { none.used_on(default_stream); }) == errc::invalid_argument);

  const auto refused = [&](loader_options wrong_ones) {
    return std::string{problem_of([&] {
                         loader made{data, std::move(wrong_ones)};
                       })
                           .value()
                           .what()};
  };
  auto wrong = options("cuda", 0);
  wrong.device_fields = {"name"};
  CHECK(refused(wrong).find("which is bytes and stays on the host") != std::string::npos);
  wrong = options("cuda", 0);
  wrong.batch_memory =
      std::shared_ptr<std::pmr::memory_resource>(std::pmr::new_delete_resource(), [](auto*) {});
  CHECK(refused(wrong).find("loader.batch_memory") != std::string::npos);
  CHECK(refused(options("gpu", 0)).find("loader.device") != std::string::npos);
}

TEST_CASE("device_loader: a device that there is not is an error of the first next(), which names "
          "those that there are") {
  loader from{samples(false), options("cuda:7", 1)};
  const auto problem = problem_of([&] { (void)from.next(); });
  REQUIRE(problem);
  CHECK(problem->code() == errc::device);
  CHECK(std::string{problem->what()}.find("cuda:7") != std::string::npos);
}

} // namespace leat::test::device_loader_test
