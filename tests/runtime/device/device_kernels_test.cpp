#include "runtime/device/device_kernels.hpp"
#include "runtime/device/device_memory.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/thrown_error.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// Groups that are decoded as kernels, over a fake device: copied there, changed by kernels, and
// what these say of it copied back, in streams of several workers.

namespace leat::device_kernels_test {
namespace {

using test::bytes_of_batch;
using test::device_rig;
using test::fake_call;
using test::fake_device;
using test::fake_order;

constexpr std::size_t n = 256;

/// As a kernel gets it.
struct argument {
  const std::byte* from;
  std::byte* to;
  std::uint32_t* told;
  std::size_t n;
};

/// Turns all bits over, and counts how often it ran.
void turn(std::span<const std::byte> x) {
  argument with{};
  REQUIRE(x.size() == sizeof with);
  std::memcpy(&with, x.data(), sizeof with);
  for (std::size_t i = 0; i < with.n; ++i)
    with.to[i] = ~with.from[i];
  ++*with.told;
}

std::vector<std::byte> turned(std::vector<std::byte> x) {
  for (auto& byte : x)
    byte = ~byte;
  return x;
}

/// A worker: its stream, and memory for one group at a time.
class worker {
public:
  worker(device_rig& rig, std::uint64_t number)
      : device_(rig.device), number_(number), pages_(2 * n, rig.host), memory_(device_, 3 * n),
        turn_(device_->kernels().find("turn")), stream_(device_->make_stream()),
        done_(device_->make_event()) {}
  ~worker() {
    device_->wait_here(done_);
    device_->end_event(done_);
    device_->end_stream(stream_);
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// The group's bytes lie in the first row of `to`, turned over, and twice turned over in the
  /// second.
  void begin(std::byte* to) {
    group_ = 100 * number_ + ++groups_;
    const auto bytes = bytes_of_batch(group_, n);
    std::copy(bytes.begin(), bytes.end(), pages_.data());
    auto* const staging = memory_.data();
    auto* const told = staging + 2 * n;
    auto& kernels = device_->kernels();
    device_->copy(staging, pages_.data(), n, stream_);
    kernels.clear(told, n / 4, stream_);
    launch(staging, to, told);
    launch(to, staging + n, told);
    kernels.copy_within(to + n, staging + n, n, stream_);
    kernels.copy_back(pages_.data() + n, told, 4, stream_);
    device_->record(done_, stream_);
  }
  void end() {
    device_->wait_here(done_);
    std::uint32_t told = 0;
    std::memcpy(&told, pages_.data() + n, sizeof told);
    CHECK(told == 2);
  }
  device_event done() const { return done_; }
  std::uint64_t group() const { return group_; }

private:
  void launch(const std::byte* from, std::byte* to, std::byte* told) {
    const argument with{from, to, reinterpret_cast<std::uint32_t*>(told), n};
    device_->kernels().launch({.kernel = turn_, .grid = {n / 32, 1, 1}, .threads = 32},
                              std::as_bytes(std::span{&with, 1}), stream_);
  }

  const std::shared_ptr<fake_device> device_;
  const std::uint64_t number_;
  const huge_buffer pages_;
  const device_memory memory_;
  const device_kernel turn_;
  const device_stream stream_;
  const device_event done_;
  std::uint64_t groups_ = 0;
  std::uint64_t group_ = 0;
};

/// Problems that a trainer sees who reads what three workers make; `waits`: for their marks.
std::vector<std::string> problems_of(fake_order order, std::uint64_t seed, bool waits) {
  device_rig rig{order, seed};
  auto& device = *rig.device;
  device.define("turn", turn);
  {
    std::vector<std::unique_ptr<worker>> workers;
    for (std::uint64_t i = 0; i < 3; ++i)
      workers.push_back(std::make_unique<worker>(rig, i));
    const device_memory batch{rig.device, 3 * 2 * n};
    const auto trainer = device.make_trainer_stream();
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < workers.size(); ++i)
        workers[i]->begin(batch.data() + i * 2 * n);
      for (std::size_t i = 0; i < workers.size(); ++i) {
        auto& one = *workers[i];
        if (waits)
          device.wait(trainer, one.done());
        auto* const rows = batch.data() + i * 2 * n;
        const auto bytes = bytes_of_batch(one.group(), n);
        device.expect(trainer, rows, turned(bytes), "turned over");
        device.expect(trainer, rows + n, bytes, "turned over twice");
      }
      device.finish(trainer);
      for (const auto& one : workers)
        one->end();
    }
  }
  device.finish();
  return device.problems();
}

TEST_CASE("device_kernels: what workers make by kernels is there for whoever waits for their "
          "marks, in any order") {
  const auto order = GENERATE(fake_order::eager, fake_order::lazy, fake_order::random);
  for (std::uint64_t seed = 1; seed <= (order == fake_order::random ? 200 : 1); ++seed)
    CHECK(problems_of(order, seed, true) == std::vector<std::string>{});
}

TEST_CASE("device_kernels: whoever does not wait for their marks sees other bytes") {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    seen += problems_of(fake_order::random, seed, false).empty() ? 0 : 1;
  CHECK(seen > 10);
  CHECK_FALSE(problems_of(fake_order::lazy, 1, false).empty());
}

TEST_CASE("device_kernels: a kernel runs as late as its stream, with the argument that it was "
          "launched with") {
  device_rig rig{fake_order::lazy};
  auto& device = *rig.device;
  device.define("turn", turn);
  auto& kernels = device.kernels();
  const auto found = kernels.find("turn");
  const device_memory memory{rig.device, 3 * n};
  auto* const at = memory.data();
  const auto bytes = bytes_of_batch(1, n);
  std::copy(bytes.begin(), bytes.end(), rig.pages.data());
  device.copy(at, rig.pages.data(), n, rig.copies);
  kernels.clear(at + n, n / 2, rig.copies);
  argument with{at, at + n, reinterpret_cast<std::uint32_t*>(at + 2 * n), n};
  kernels.launch({.kernel = found}, std::as_bytes(std::span{&with, 1}), rig.copies);
  with = {};
  kernels.copy_back(rig.pages.data() + n, at + n, n + 4, rig.copies);
  CHECK(at[n] == std::byte{0xA5}); // of fresh memory
  CHECK(rig.pages.data()[n] == std::byte{0});
  CHECK(device.counts().of(fake_call::launch) == 1);
  device.wait_for_all();
  const auto* const back = rig.pages.data() + n;
  CHECK(std::vector<std::byte>(back, back + n) == turned(bytes));
  CHECK(back[n] == std::byte{1});
  CHECK(device.problems() == std::vector<std::string>{});
}

TEST_CASE("device_kernels: memory and pages that kernels and copies back still use are missed") {
  device_rig rig{fake_order::lazy};
  auto& device = *rig.device;
  device.define("turn", turn);
  auto& kernels = device.kernels();
  auto* const at = device.allocate(3 * n);
  auto* const pages = rig.pages.data();
  const argument with{at, at + n, reinterpret_cast<std::uint32_t*>(at + 2 * n), n};
  const auto argument_bytes = std::as_bytes(std::span{&with, 1});
  kernels.launch({.kernel = kernels.find("turn")}, argument_bytes, rig.copies);
  device.release(at);
  CHECK(device.problems()
        == std::vector<std::string>{"memory is released that a stream still uses"});
  device.wait_for_all();
  CHECK(device.problems().size() == 2);

  auto* const other = device.allocate(n);
  kernels.copy_back(pages, other, n, rig.copies);
  const auto pinned = device.counts().pinned_bytes;
  device.unpin(pages);
  CHECK(device.problems().back() == "pages are unpinned that a copy still reads");
  device.wait_for_all();
  CHECK(device.problems().size() == 4);
  device.release(other);
  CHECK(device.pin(pages, pinned) == std::nullopt);
}

TEST_CASE("device_kernels: what no device does is refused, and is a problem") {
  device_rig rig{fake_order::lazy};
  auto& device = *rig.device;
  device.define("turn", turn);
  auto& kernels = device.kernels();
  const auto found = kernels.find("turn");
  const device_memory memory{rig.device, n};
  auto* const at = memory.data();
  const auto text = [](auto function) {
    const auto problem = problem_of(function);
    return problem ? problem->details().got : "no error";
  };
  CHECK(text([&] { kernels.find("twist"); }) == "no kernel twist");
  const std::string launch =
      "a kernel that there is not, or with more or less threads than a device has";
  CHECK(text([&] { kernels.launch({}, {}, rig.copies); }) == launch);
  CHECK(text([&] {
          kernels.launch({.kernel = found, .grid = {1, 0, 1}}, {}, rig.copies);
        })
        == launch);
  CHECK(text([&] { kernels.launch({.kernel = found, .threads = 1025}, {}, rig.copies); })
        == launch);
  CHECK(text([&] { kernels.launch({.kernel = found, .threads = 0}, {}, rig.copies); }) == launch);
  CHECK(text([&] { kernels.launch({.kernel = found, .shared_bytes = 49153}, {}, rig.copies); })
        == launch);
  CHECK(text([&] { kernels.copy_back(rig.pages.data(), at + 1, n, rig.copies); })
        == "a copy from memory that the device has not");
  const std::string within = "a copy within memory that the device has not, or over itself";
  CHECK(text([&] { kernels.copy_within(at, at + n / 2, n, rig.copies); }) == within);
  CHECK(text([&] { kernels.copy_within(at, at + 8, 16, rig.copies); }) == within);
  const std::string clear = "memory is cleared that the device has not, or that is no row of words";
  CHECK(text([&] { kernels.clear(at, n / 4 + 1, rig.copies); }) == clear);
  CHECK(text([&] { kernels.clear(at + 2, 1, rig.copies); }) == clear);
  CHECK(device.problems().size() == 10);
  device.refuse_kernels("a card of stone");
  CHECK(text([&] { device.kernels(); }) == "a card of stone");
  device.fail(fake_call::launch);
  CHECK(text([&] { kernels.launch({.kernel = found}, {}, rig.copies); })
        == "the fake device shall fail in launch");
}

} // namespace
} // namespace leat::device_kernels_test
