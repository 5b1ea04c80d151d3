#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace leat::test {

/// The standard input of processes, one after the other, into which a text flows at a given rate
/// as long as `pour` is called. What one process has read, the next lacks.
class live_pipe {
public:
  live_pipe(std::string text, std::size_t bytes_per_ms)
      : text_(std::move(text)), bytes_per_ms_(bytes_per_ms) {
    REQUIRE(::pipe(ends_.data()) == 0);                   // children inherit the end that is read
    REQUIRE(::fcntl(ends_[1], F_SETFD, FD_CLOEXEC) == 0); // or they would never see the end
    REQUIRE(::fcntl(ends_[1], F_SETFL, O_NONBLOCK) == 0);
  }
  live_pipe(const live_pipe&) = delete;
  live_pipe& operator=(const live_pipe&) = delete;
  ~live_pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  /// Writes what is due and has room; the cut may be within a line.
  void pour() {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began_);
    const auto due =
        std::min(text_.size(), static_cast<std::size_t>(passed.count()) * bytes_per_ms_);
    if (ends_[1] < 0)
      return;
    if (due > poured_)
      if (const auto n = ::write(ends_[1], text_.data() + poured_, due - poured_); n > 0)
        poured_ += static_cast<std::size_t>(n);
    if (poured_ == text_.size()) {
      ::close(ends_[1]);
      ends_[1] = -1;
    }
  }

  /// The redirection as shell text.
  std::string redirection() const {
    return "exec </proc/self/fd/" + std::to_string(ends_[0]) + ";";
  }

private:
  const std::string text_;
  const std::size_t bytes_per_ms_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::size_t poured_ = 0;
  std::array<int, 2> ends_{-1, -1};
};

} // namespace leat::test
