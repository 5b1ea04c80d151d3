#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_calls.hpp"
#include "runtime/device/device_jpegs.hpp"
#include "runtime/device/device_kernels.hpp"
#include "tests/support/unset_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat::test {

class fake_kernels;

/// When a fake device does its work.
enum class fake_order : std::uint8_t {
  /// At once.
  eager,
  /// When a thread waits for it, and then only what that one needs: is_reached() alone never ends.
  lazy,
  /// Any call does any work that could be done by then, in an order drawn from the seed. Some do
  /// none, and threads that wait have at least done what they need.
  random,
  /// At once, but all that takes time is left out: copies and kernels change nothing, and what is
  /// copied back is zeros. For measurements.
  idle,
};

enum class fake_call : std::uint8_t {
  pin,
  unpin,
  allocate,
  release,
  make_stream,
  end_stream,
  make_event,
  end_event,
  copy,
  record,
  wait,
  is_reached,
  wait_here,
  wait_for_all,
  kernels,
  find,
  launch,
  copy_back,
  copy_within,
  clear,
};
inline constexpr std::size_t num_fake_calls = 20;

struct fake_counts {
  std::array<std::uint64_t, num_fake_calls> calls{};
  std::uint64_t of(fake_call x) const { return calls[static_cast<std::size_t>(x)]; }

  std::uint64_t copied_bytes = 0;
  /// Copies from memory that is not pinned: the calling thread waits for these, too.
  std::uint64_t unpinned_copies = 0;
  // What there is now:
  std::uint64_t pinned_bytes = 0;
  std::uint64_t device_bytes = 0;
  std::uint64_t streams = 0;
  std::uint64_t events = 0;
};

/// A device of the host's memory that is as late, and in as odd an order, as the promises of
/// device_calls allow. Whoever calls does its work: it has no thread, and nobody sleeps. What
/// nobody may do (copies from pages that are unpinned too early, use of memory that was released, a
/// second release) is a problem, which tests look for at their end. Any thread.
class fake_device final : public device_calls {
public:
  explicit fake_device(std::uint64_t seed = 1, fake_order order = fake_order::random,
                       int number = 0);
  ~fake_device() override;

  std::string name() const override { return "cuda:" + std::to_string(number_); }
  int number() const noexcept override { return number_; }
  std::optional<std::string> pin(std::byte* pages, std::size_t bytes) override;
  void unpin(std::byte* pages) noexcept override;
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  device_stream make_stream() override;
  void end_stream(device_stream x) noexcept override;
  device_event make_event() override;
  void end_event(device_event x) noexcept override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, device_stream on) override;
  void record(device_event mark, device_stream in) override;
  void wait(device_stream waits, device_event for_mark) override;
  bool is_reached(device_event mark) override;
  void wait_here(device_event mark) override;
  void wait_for_all() override;
  device_kernels& kernels() override;
  std::unique_ptr<device_jpegs> open_jpegs() override;

  // A trainer's work. Beside its streams there are the default ones: null or 1 for all threads, and
  // 2, which is another one in each thread.
  device_stream make_trainer_stream();
  /// Work that it was given is still done. Later calls with it throw, as for an unknown stream.
  void end_trainer_stream(device_stream x);
  /// A kernel, which may not call the device.
  void run(device_stream on, std::function<void()> kernel);
  /// A kernel that reads the device's memory.
  void read(device_stream on, const std::byte* at, std::size_t bytes,
            std::function<void(std::span<const std::byte>)> kernel);
  /// A kernel for which other bytes than these are a problem.
  void expect(device_stream on, const std::byte* at, std::vector<std::byte> bytes,
              std::string what);
  /// `waits` waits for all that the other one was given so far.
  void follow(device_stream waits, device_stream other);
  /// Does all of a stream's work, or of all streams, which no count calls a wait.
  void finish(device_stream x);
  void finish();

  /// What a kernel of this name does with its argument, which is made up: host_kernels.hpp has
  /// leat's own.
  void define(std::string name, std::function<void(std::span<const std::byte>)> body);

  // What happened:
  std::vector<std::string> problems() const;
  fake_counts counts() const;
  /// Calls of wait_here() and wait_for_all() by a thread.
  std::uint64_t waits_of(std::thread::id x = std::this_thread::get_id()) const;

  // What shall fail:
  /// The n-th of these calls from now on, from 1. Calls that are noexcept cannot.
  void fail(fake_call what, std::uint64_t n = 1);
  /// Every later call, as after a fault in somebody's kernel.
  void lose();
  /// Every later pin().
  void refuse_pins(std::string reason);
  /// allocate() beyond so many bytes in all.
  void limit_memory(std::uint64_t bytes);
  void set_order(fake_order x);
  /// Every later kernels().
  void refuse_kernels(std::string reason);

private:
  friend class fake_kernels;

  /// Where a mark was put.
  struct place {
    void* stream = nullptr;
    bool is_reached = false;
  };
  using place_ptr = std::shared_ptr<place>;

  struct operation {
    std::function<void()> kernel = {};
    /// The device's memory that it uses, and which pages it copies from or to.
    std::vector<std::uint64_t> memory = {};
    std::vector<std::uint64_t> pages = {};
    place_ptr records = {};
    place_ptr waits = {};
  };
  struct stream {
    std::deque<operation> work = {};
    bool is_trainers = false;
    bool is_ended = false;
  };
  struct memory {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
    unset_memory owner = {};
  };
  struct pages {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
  };

  void count(fake_call what) LEAT_REQUIRES(mutex_);
  /// Counts, fails if it shall, and lets some work be done.
  void enter(fake_call what) LEAT_REQUIRES(mutex_);
  [[noreturn]] void refuse(const std::string& what) const;
  void problem(std::string text);
  /// What nobody may ask for: a problem, too.
  [[noreturn]] void forbid(const std::string& what);

  void* key_of(device_stream x) LEAT_REQUIRES(mutex_);
  stream& stream_of(device_stream x) LEAT_REQUIRES(mutex_);
  place_ptr& place_of(device_event x) LEAT_REQUIRES(mutex_);
  device_stream add_stream(bool is_trainers) LEAT_REQUIRES(mutex_);
  void end(device_stream x, bool is_trainers) LEAT_REQUIRES(mutex_);
  /// Id of the memory that has these bytes; 0 for none.
  std::uint64_t memory_at(const std::byte* at, std::size_t bytes) const LEAT_REQUIRES(mutex_);
  /// Id of the pages that begin with these bytes; 0 if they are not pinned.
  std::uint64_t pages_at(const std::byte* at, std::size_t bytes) LEAT_REQUIRES(mutex_);
  /// Whether all are there.
  bool has_memory(const std::vector<std::uint64_t>& ids) const LEAT_REQUIRES(mutex_);
  bool has_pages(const std::vector<std::uint64_t>& ids) const LEAT_REQUIRES(mutex_);
  bool is_in_use(std::vector<std::uint64_t> operation::*what, std::uint64_t id) const
      LEAT_REQUIRES(mutex_);

  void add(device_stream on, operation x) LEAT_REQUIRES(mutex_);
  bool draw(unsigned of) LEAT_REQUIRES(mutex_) { return random_() % of == 0; }
  static bool can_run(const stream& x);
  void run_one(std::map<void*, stream>::iterator in) LEAT_REQUIRES(mutex_);
  /// Whether there was one.
  bool run_any() LEAT_REQUIRES(mutex_);
  void run_some() LEAT_REQUIRES(mutex_);
  void reach(const place_ptr& x) LEAT_REQUIRES(mutex_);
  void drain(void* key) LEAT_REQUIRES(mutex_);

  const int number_;
  mutable mutex mutex_;
  std::mt19937_64 random_ LEAT_GUARDED_BY(mutex_);
  fake_order order_ LEAT_GUARDED_BY(mutex_);
  /// 1: is slow; 2: is quick; others: rests.
  std::uint64_t pace_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_id_ LEAT_GUARDED_BY(mutex_) = 1;
  std::map<void*, stream> streams_ LEAT_GUARDED_BY(mutex_);
  std::map<std::thread::id, void*> streams_of_threads_ LEAT_GUARDED_BY(mutex_);
  std::map<void*, place_ptr> events_ LEAT_GUARDED_BY(mutex_);
  std::map<const std::byte*, memory> memory_ LEAT_GUARDED_BY(mutex_);
  std::map<const std::byte*, pages> pages_ LEAT_GUARDED_BY(mutex_);

  fake_counts counts_ LEAT_GUARDED_BY(mutex_);
  std::map<std::thread::id, std::uint64_t> waits_ LEAT_GUARDED_BY(mutex_);
  /// Calls until one fails; 0: none does.
  std::array<std::uint64_t, num_fake_calls> failing_ LEAT_GUARDED_BY(mutex_) = {};
  bool is_lost_ LEAT_GUARDED_BY(mutex_) = false;
  std::optional<std::string> pin_refusal_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t most_memory_ LEAT_GUARDED_BY(mutex_) = ~std::uint64_t{0};
  std::optional<std::string> kernel_refusal_ LEAT_GUARDED_BY(mutex_);
  std::unique_ptr<fake_kernels> kernels_ LEAT_GUARDED_BY(mutex_);

  /// Kernels note problems, too, which run while `mutex_` is held.
  mutable mutex problems_mutex_;
  std::vector<std::string> problems_ LEAT_GUARDED_BY(problems_mutex_);
};

} // namespace leat::test
