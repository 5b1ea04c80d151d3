#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace leat {

/// Calls functions from time to time, in a thread that all of the process share and that is there
/// while anyone needs it.
class watch_thread {
public:
  /// A function that is called while this lives.
  class registration {
  public:
    registration() noexcept;
    registration(registration&& other) noexcept;
    registration& operator=(registration&& other) noexcept;
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    /// Waits for a call in progress; afterwards there is none.
    ~registration();

    explicit operator bool() const noexcept { return state_ != nullptr; }

  private:
    friend class watch_thread;
    struct state;
    std::unique_ptr<state> state_;
  };

  /// Calls `look` every `interval`. What it throws reaches nobody, and it is called again. Throws
  /// `errc::no_resources`; then nothing is called.
  static registration add(std::chrono::milliseconds interval, std::function<void()> look);

private:
  class entry;
  class shared;
};

} // namespace leat
