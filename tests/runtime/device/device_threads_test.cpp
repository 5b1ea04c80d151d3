#include "runtime/base/threads/blocking_queue.hpp"
#include "runtime/device/device_ring.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// The threads of a loader with a device: one that copies, the trainer's, and others that end its
// leases. tests/runtime/device/device_schedules_test.cpp has more orders, in one thread.

namespace leat::device_threads_test {
namespace {

using test::bytes_of_batch;
using test::device_rig;
using test::fake_order;

constexpr std::size_t num_device_slots = 4;
constexpr std::uint64_t num_batches = 400;
constexpr std::size_t n = 64;

struct batch {
  std::uint64_t number = 0;
  std::byte* pages = nullptr;
  device_slot_ptr to;
};

template <class T>
T pop(blocking_queue<T>& from) {
  for (;;)
    if (auto x = from.pop_until(std::chrono::steady_clock::now() + std::chrono::seconds{1}))
      return std::move(*x);
}

std::vector<device_slot_ptr> make_slots(device_rig& rig) {
  std::vector<device_slot_ptr> all;
  for (std::size_t i = 0; i < num_device_slots; ++i)
    all.push_back(rig.make_slot({{.dense_bytes = n}, {.is_ragged = true}}));
  return all;
}

class job {
public:
  explicit job(std::uint64_t seed) : rig_(fake_order::random, seed), ring_(make_slots(rig_)) {
    for (std::size_t i = 0; i <= num_device_slots; ++i)
      free_.push_back(rig_.pages.data() + i * n);
  }

  void run() {
    std::thread copier{[this] { copy_all(); }};
    std::vector<std::thread> enders;
    for (std::size_t i = 0; i < 2; ++i)
      enders.emplace_back([this, i] { end_leases(i); });
    train();
    copier.join();
    for (auto& x : enders)
      x.join();
    for (std::size_t i = 0; i < num_device_slots; ++i)
      ring_.take().reset();
    const mutex_lock lock{mutex_};
    copied_from_.clear();
    rig_.device->finish();
  }

  device_rig& rig() { return rig_; }
  std::uint64_t waits_of_trainer() const { return waits_of_trainer_; }

private:
  void copy_all() {
    for (std::uint64_t number = 1; number <= num_batches; ++number) {
      auto to = ring_.take();
      auto* const pages = host_memory();
      const auto bytes = bytes_of_batch(number, n);
      std::copy(bytes.begin(), bytes.end(), pages);
      to->begin(rig_.copies);
      to->copy(0, {pages, n});
      to->copy(1, bytes_of_batch(number + 7, number % 300),
               std::vector<std::uint64_t>{0, number % 300});
      to->end();
      ready_.push({number, pages, std::move(to)});
    }
  }

  /// There is more of it than of the device's, of which the caller has one.
  std::byte* host_memory() {
    std::optional<batch> oldest;
    {
      const mutex_lock lock{mutex_};
      if (free_.empty()) {
        oldest = std::move(copied_from_.back());
        copied_from_.pop_back();
      } else {
        auto* const pages = free_.back();
        free_.pop_back();
        return pages;
      }
    }
    oldest->to->wait_until_copied();
    return oldest->pages;
  }

  void train() {
    const auto first = rig_.device->make_trainer_stream();
    const auto second = rig_.device->make_trainer_stream();
    for (std::uint64_t number = 1; number <= num_batches; ++number) {
      auto x = pop(ready_);
      const auto text = "batch " + std::to_string(x.number);
      x.to->lend();
      x.to->make_wait(first);
      rig_.device->expect(first, x.to->data(0), bytes_of_batch(number, n), text);
      rig_.device->follow(second, first);
      x.to->used_on(second);
      rig_.device->expect(second, x.to->data(1), bytes_of_batch(number + 7, number % 300), text);
      over_[number % 2].push(std::move(x));
    }
    waits_of_trainer_ = rig_.device->waits_of();
  }

  void end_leases(std::size_t which) {
    for (std::uint64_t i = 0; i < num_batches / 2; ++i) {
      auto x = pop(over_[which]);
      x.to->fence();
      const bool is_done = x.to->is_copied();
      {
        const mutex_lock lock{mutex_};
        if (is_done)
          free_.push_back(x.pages);
        else
          copied_from_.push_back(x);
      }
      ring_.put(std::move(x.to));
    }
  }

  device_rig rig_;
  device_ring ring_;
  blocking_queue<batch> ready_;
  std::array<blocking_queue<batch>, 2> over_;
  mutex mutex_;
  std::vector<std::byte*> free_ LEAT_GUARDED_BY(mutex_);
  std::vector<batch> copied_from_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t waits_of_trainer_ = 1;
};

TEST_CASE("device threads: batches are copied, used and given back by four threads") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    job x{seed};
    x.run();
    CHECK(x.rig().device->problems() == std::vector<std::string>{});
    CHECK(x.waits_of_trainer() == 0);
    CHECK(x.rig().device->counts().device_bytes == 0);
  }
}

} // namespace
} // namespace leat::device_threads_test
