#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace leat::test {

/// A pipe with both of its ends. Children do not inherit them: a child that holds the writing end
/// of its own input would wait for itself.
class pipe_pair {
public:
  pipe_pair() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    out_ = ends[0];
    in_ = ends[1];
  }
  ~pipe_pair() {
    close_in();
    ::close(out_);
  }
  pipe_pair(const pipe_pair&) = delete;
  pipe_pair& operator=(const pipe_pair&) = delete;

  int out() const { return out_; }
  int in() const { return in_; }
  /// Writes as much as the pipe holds; more would block.
  void write(std::string_view text) const {
    if (::write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("no write to a pipe");
  }
  void close_in() {
    if (const int in = std::exchange(in_, -1); in >= 0)
      ::close(in);
  }

private:
  int out_ = -1;
  int in_ = -1;
};

/// Replaces standard input by another descriptor while this lives.
class standard_input_from {
public:
  explicit standard_input_from(int descriptor) : before_(::dup(STDIN_FILENO)) {
    ::dup2(descriptor, STDIN_FILENO);
  }
  ~standard_input_from() {
    if (before_ < 0) {
      ::close(STDIN_FILENO);
      return;
    }
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  standard_input_from(const standard_input_from&) = delete;
  standard_input_from& operator=(const standard_input_from&) = delete;

private:
  int before_;
};

} // namespace leat::test
