#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace leat {

/// Calls functions periodically, in one thread that the whole process shares and that exists while
/// anything is registered.
class watch_thread {
public:
  /// A function that is called as long as this lives.
  class registration {
  public:
    registration() noexcept;
    registration(registration&& other) noexcept;
    registration& operator=(registration&& other) noexcept;
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    /// Waits for a call in progress; there is none afterwards.
    ~registration();

    explicit operator bool() const noexcept { return state_ != nullptr; }

  private:
    friend class watch_thread;
    struct state;
    std::unique_ptr<state> state_;
  };

  /// Calls `look` every `interval`, also after it has thrown; its exceptions are dropped.
  /// Throws `errc::no_resources`; then nothing is called.
  static registration add(std::chrono::milliseconds interval, std::function<void()> look);

private:
  class entry;
  class shared;
};

} // namespace leat
