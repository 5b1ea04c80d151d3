#include "runtime/device/device_ring.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <vector>

// A loader's use of device slots, with pretended host slots, on a device that does its work in
// thousands of orders.

namespace leat::device_schedules_test {
namespace {

using test::bytes_of;
using test::bytes_of_batch;
using test::fake_call;
using test::fake_device;
using test::fake_order;

/// Errors that programs make, which a test has to see.
enum class planted : std::uint8_t {
  nothing,
  /// Memory of the host gets its next batch before the copies of the one before are done.
  host_memory_early,
  /// Work goes on in a stream that was not named.
  device_memory_early,
  /// A stream reads without waiting for the copies.
  no_wait,
  /// The lease ends before the last work is given.
  lease_early,
};

constexpr std::size_t dense_bytes = 96;
constexpr std::uint64_t num_batches = 12;

fake_order order_of(std::uint64_t seed) {
  return seed % 8 == 0 ? fake_order::lazy : seed % 8 == 1 ? fake_order::eager : fake_order::random;
}

class schedule {
public:
  schedule(std::uint64_t seed, planted error)
      : error_(error), random_(seed), has_ragged_(draw(2) == 0),
        device_(std::make_shared<fake_device>(seed, order_of(seed))),
        host_(std::make_shared<pinned_memory>(device_)), copies_(device_->make_stream()),
        ring_(make_slots(draw(3) + 3)) {
    for (auto i = draw(2) + 2; i > 0; --i)
      free_.emplace_back(dense_bytes, host_);
    for (auto i = draw(3) + 2; i > 0; --i)
      streams_.push_back(device_->make_trainer_stream());
    streams_.emplace_back(); // the default stream
    if (draw(4) == 0)
      streams_.push_back({reinterpret_cast<void*>(2)});
  }

  /// Problems that it met.
  std::vector<std::string> run() {
    for (std::uint64_t batch = 1; batch <= num_batches; ++batch) {
      copy(batch);
      while (!leases_.empty() && (in_ring_ == 0 || draw(3) == 0))
        end_lease();
    }
    while (!leases_.empty())
      end_lease();
    free_.clear(); // what is still copied from is waited for:
    for (auto& x : copied_from_)
      x.to->wait_until_copied();
    copied_from_.clear();
    while (in_ring_-- > 0)
      ring_.take().reset();
    device_->end_stream(copies_);
    device_->finish();
    auto problems = device_->problems();
    const auto left = device_->counts();
    if (left.device_bytes + left.pinned_bytes + left.streams + left.events > 0)
      problems.emplace_back("something is left");
    if (reads_ != given_reads_)
      problems.emplace_back("a kernel has not run");
    return problems;
  }

private:
  struct lease {
    std::uint64_t batch;
    huge_buffer pages;
    device_slot_ptr to;
    std::vector<device_stream> streams = {};
  };

  std::uint64_t draw(std::uint64_t of) { return random_() % of; }

  std::vector<device_slot_ptr> make_slots(std::size_t n) {
    std::vector<device_slot_ptr> all;
    for (in_ring_ = n; all.size() < n;)
      all.push_back(std::make_shared<device_slot>(
          device_, host_,
          std::vector<device_field_plan>{{.dense_bytes = dense_bytes},
                                         {.is_ragged = has_ragged_}}));
    return all;
  }

  /// Memory of the host that no copy reads.
  huge_buffer host_memory() {
    for (auto i = copied_from_.begin(); i != copied_from_.end();)
      if (error_ == planted::host_memory_early || i->to->is_copied()) {
        free_.push_back(std::move(i->pages));
        i = copied_from_.erase(i);
      } else {
        ++i;
      }
    while (free_.empty() && copied_from_.empty())
      end_lease();
    if (free_.empty()) {
      copied_from_.front().to->wait_until_copied();
      free_.push_back(std::move(copied_from_.front().pages));
      copied_from_.pop_front();
    }
    auto found = std::move(free_.front());
    free_.pop_front();
    return found;
  }

  static std::vector<std::uint64_t> offsets_of(std::uint64_t batch) {
    return {0, batch * 7 % 40, 40 + batch * 90 % 700};
  }

  void copy(std::uint64_t batch) {
    auto pages = host_memory();
    auto to = ring_.take();
    --in_ring_;
    const auto dense = bytes_of_batch(batch, dense_bytes);
    const auto offsets = offsets_of(batch);
    std::copy(dense.begin(), dense.end(), pages.data());
    to->begin(copies_);
    to->copy(0, {pages.data(), dense_bytes});
    if (has_ragged_) // whose staged bytes are waited for
      to->copy(1, bytes_of_batch(batch + 50, offsets.back()), offsets);
    to->end();
    if (draw(8) == 0) { // rewound: handed over to nobody
      to->drop();
      copied_from_.push_back({std::move(pages), to});
      put(std::move(to));
      return;
    }
    lease x{batch, std::move(pages), std::move(to)};
    x.to->lend();
    use(x);
    leases_.push_back(std::move(x));
  }

  void use(lease& x) {
    const auto first = draw(streams_.size());
    const auto more = draw(streams_.size() + 1);
    for (std::size_t i = 0; i < more; ++i) {
      const auto in = streams_[(first + i) % streams_.size()];
      if (error_ == planted::no_wait) {
        x.to->used_on(in);
      } else if (i > 0 && draw(2) == 0) { // the trainer's own way to make streams wait
        device_->follow(in, x.streams.front());
        if (error_ != planted::device_memory_early)
          x.to->used_on(in);
      } else {
        x.to->make_wait(in);
      }
      x.streams.push_back(in);
      read(x, in);
    }
    if (more == 0 && draw(2) == 0) { // as a library that names no stream
      x.to->used_on(std::nullopt);
      x.to->wait_until_copied();
      read(x, streams_[first]);
    }
  }

  void read(const lease& x, device_stream in) {
    const auto text = "batch " + std::to_string(x.batch);
    const auto offsets = offsets_of(x.batch);
    device_->expect(in, x.to->data(0), bytes_of_batch(x.batch, dense_bytes), text);
    device_->run(in, [] {}); // long work: another may be done meanwhile
    if (has_ragged_) {
      const auto* const at = reinterpret_cast<const std::byte*>(x.to->offsets(1));
      device_->expect(in, x.to->data(1), bytes_of_batch(x.batch + 50, offsets.back()),
                      "values of " + text);
      device_->expect(in, at, bytes_of(offsets), "offsets of " + text);
    }
    ++given_reads_;
    device_->run(in, [this] { ++reads_; });
  }

  void end_lease() {
    const auto i = leases_.begin() + static_cast<std::ptrdiff_t>(draw(leases_.size()));
    auto x = std::move(*i);
    leases_.erase(i);
    const auto in_use =
        error_ == planted::lease_early ? std::move(x.streams) : std::vector<device_stream>{};
    for (const auto stream : x.streams) // until its end, the trainer gives it work
      if (draw(2) == 0)
        read(x, stream);
    const auto to = x.to;
    if (draw(4) == 0)
      std::thread{[&] { to->fence(); }}.join();
    else
      to->fence();
    for (const auto stream : in_use)
      read(x, stream);
    if (!to->is_copied())
      copied_from_.push_back({std::move(x.pages), to});
    else
      free_.push_back(std::move(x.pages));
    put(to);
  }

  void put(device_slot_ptr x) {
    ring_.put(std::move(x));
    ++in_ring_;
  }

  struct copied_memory {
    huge_buffer pages;
    device_slot_ptr to;
  };

  const planted error_;
  std::mt19937_64 random_;
  const bool has_ragged_;
  const std::shared_ptr<fake_device> device_;
  const std::shared_ptr<pinned_memory> host_;
  const device_stream copies_;
  std::size_t in_ring_ = 0;
  device_ring ring_;
  std::deque<huge_buffer> free_;
  std::deque<copied_memory> copied_from_;
  std::vector<device_stream> streams_;
  std::vector<lease> leases_;
  std::uint64_t given_reads_ = 0;
  std::uint64_t reads_ = 0;
};

TEST_CASE("device schedules: nothing is read before it is there, nor written while it is read") {
  for (std::uint64_t seed = 1; seed <= (test::sanitized ? 2'000 : 10'000); ++seed) {
    INFO("seed " << seed);
    REQUIRE(schedule{seed, planted::nothing}.run() == std::vector<std::string>{});
  }
}

TEST_CASE("device schedules: each error of a program with leases is seen by many of them") {
  const auto error = GENERATE(planted::host_memory_early, planted::device_memory_early,
                              planted::no_wait, planted::lease_early);
  constexpr std::uint64_t num_schedules = 400;
  std::uint64_t seen = 0;
  for (std::uint64_t seed = 1; seed <= num_schedules; ++seed)
    seen += schedule{seed, error}.run().empty() ? 0 : 1;
  CAPTURE(static_cast<int>(error), seen);
  CHECK(seen > num_schedules / 3);
}

} // namespace
} // namespace leat::device_schedules_test
