#pragma once

#include "tests/support/standard.hpp"

#include <leat/notice.hpp>

namespace leat {

/// Collects notices while it lives, from any thread.
class heard_notices {
public:
  /// Calls `then` after each notice, in the thread that gave it.
  explicit heard_notices(std::function<void()> then = {}) {
    set_notice_handler([this, then = std::move(then)](const std::string& text) {
      {
        const std::lock_guard lock{mutex_};
        texts_.push_back(text);
        changed_.notify_all();
      }
      if (then)
        then();
    });
  }
  ~heard_notices() { set_notice_handler({}); }
  heard_notices(const heard_notices&) = delete;
  heard_notices& operator=(const heard_notices&) = delete;

  std::vector<std::string> texts() {
    const std::lock_guard lock{mutex_};
    return texts_;
  }
  std::size_t number() { return texts().size(); }
  /// Waits for a notice that contains this text.
  void wait(const std::string& part) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] {
      return std::any_of(texts_.begin(), texts_.end(),
                         [&](const std::string& x) { return x.find(part) != std::string::npos; });
    });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
};

} // namespace leat
