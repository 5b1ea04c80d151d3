#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace leat {

/// Calls functions from time to time, in one thread that is shared by the whole process and exists
/// while anyone needs it.
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
    /// Waits for a call in progress; afterwards there is none.
    ~registration();

    explicit operator bool() const noexcept { return state_ != nullptr; }

  private:
    friend class watch_thread;
    struct state;
    std::unique_ptr<state> state_;
  };

  /// Calls `look` every `interval`. An exception that it throws is dropped, and it is called again.
  /// Throws `errc::no_resources`; then nothing is called.
  static registration add(std::chrono::milliseconds interval, std::function<void()> look);

private:
  class entry;
  class shared;
};

} // namespace leat
