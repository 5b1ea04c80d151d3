#include "runtime/storage/object_store.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace leat {

namespace {

/// The end of one read, for the thread that began it. Nobody takes the lock where the read has
/// ended before anyone waits.
class landing {
public:
  read_done door() {
    return [this](read_result x) { end(std::move(x)); };
  }

  read_result wait() {
    auto now = state::begun;
    if (state_.compare_exchange_strong(now, state::awaited)) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return told_; });
    }
    return std::move(result_);
  }

private:
  enum class state : std::uint8_t { begun, awaited, ended };

  void end(read_result x) {
    result_ = std::move(x);
    if (state_.exchange(state::ended) != state::awaited)
      return;
    // With the lock held: who waits destroys all this as soon as it may go on.
    const std::lock_guard lock{mutex_};
    told_ = true;
    changed_.notify_one();
  }

  read_result result_;
  std::atomic<state> state_ = state::begun;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
};

} // namespace

read_result stored_objects::read_here(std::span<const read_part> parts,
                                      const std::stop_token& stop) {
  landing end;
  read(parts, end.door(), stop);
  return end.wait();
}

} // namespace leat
