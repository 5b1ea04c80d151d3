#include "runtime/storage/object_store.hpp"

#include "runtime/base/threads/mutex.hpp"

#include <atomic>
#include <utility>

namespace leat {

namespace {

/// Receives the result of one read for the thread that began it. The lock is not taken if the read
/// ends before the thread waits for it.
class landing {
public:
  read_done callback() {
    return [this](read_result x) { end(std::move(x)); };
  }

  read_result wait() {
    auto now = state::begun;
    if (state_.compare_exchange_strong(now, state::awaited)) {
      mutex_lock lock{mutex_};
      while (!is_signaled_)
        changed_.wait(mutex_);
    }
    return std::move(result_);
  }

private:
  enum class state : std::uint8_t { begun, awaited, ended };

  void end(read_result x) {
    result_ = std::move(x);
    if (state_.exchange(state::ended) != state::awaited)
      return;
    // Notifies with the lock held: the waiting thread destroys this object as soon as it continues.
    const mutex_lock lock{mutex_};
    is_signaled_ = true;
    changed_.notify_one();
  }

  read_result result_;
  std::atomic<state> state_ = state::begun;
  mutex mutex_;
  condition_variable changed_;
  bool is_signaled_ LEAT_GUARDED_BY(mutex_) = false;
};

} // namespace

void stored_objects::read_ahead(std::span<const read_part> parts, read_done done,
                                const std::stop_token& stop) {
  read(parts, std::move(done), stop);
}

void stored_objects::expect(std::size_t, std::uint64_t, std::uint64_t) noexcept {}

bool stored_objects::expect_soon(std::span<const expected_range>) noexcept {
  return false;
}

void stored_objects::expect_nothing() noexcept {}

void stored_objects::expect_stats() noexcept {}

read_result stored_objects::read_here(std::span<const read_part> parts,
                                      const std::stop_token& stop) {
  landing end;
  read(parts, end.callback(), stop);
  return end.wait();
}

read_result near_objects::read_here(std::span<const read_part> parts, const std::stop_token&) {
  read_result x;
  try {
    x.bytes = read_parts(parts);
  } catch (const error& problem) {
    x.failure = std::make_shared<const error>(problem);
  }
  return x;
}

} // namespace leat
