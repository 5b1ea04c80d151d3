#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/sources/live/once_input.hpp"
#include "runtime/sources/live/sole_right.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace leat {

namespace {

/// A signal for a whole pipeline ends whoever writes to it, and then this process, too: that is no
/// end of the input, which a journal would remember.
constexpr int end_pause_ms = 300;

class line_reader : public record_reader {
public:
  explicit line_reader(std::atomic<bool>& taken) : right_(taken, "standard_input") {
    const int mode = ::fcntl(STDIN_FILENO, F_GETFL);
    if (mode < 0 || (mode & O_ACCMODE) == O_WRONLY)
      throw_error(errc::io, "standard_input", "standard input that is closed or cannot be read",
                  "a pipe, a file or a terminal as standard input");
    if (!interruption_)
      throw_errno("standard_input", "", "an event descriptor");
  }

  result take(record_store& into) override {
    while (wait()) {
      const auto bytes = into.take(STDIN_FILENO);
      if (bytes && *bytes > 0)
        return {state::going_on, *bytes};
      if (bytes && into.is_journal() && is_interrupted_soon())
        break;
      if (bytes) {
        into.end_line();
        return {state::ended};
      }
    }
    return {state::interrupted};
  }

  void interrupt() override {
    [[maybe_unused]] const auto failed = ::eventfd_write(interruption_.get(), 1);
  }

private:
  /// Waits until there is something to read, or the end of it; false when interrupted.
  bool wait() const {
    std::array<pollfd, 2> all{{{STDIN_FILENO, POLLIN, 0}, {interruption_.get(), POLLIN, 0}}};
    while (::poll(all.data(), all.size(), -1) < 0)
      if (errno != EINTR)
        throw_errno("standard_input", "", "an input that can be waited for");
    return all[1].revents == 0;
  }
  bool is_interrupted_soon() const {
    pollfd one{interruption_.get(), POLLIN, 0};
    return uninterrupted([&] { return ::poll(&one, 1, end_pause_ms); }) > 0;
  }

  sole_right right_;
  /// Stays readable once it has been interrupted.
  file_descriptor interruption_ = opened([] { return ::eventfd(0, EFD_CLOEXEC); });
};

class line_input : public once_input {
public:
  const std::string& name() const override { return name_; }
  record_format format() const override { return record_format::lines; }
  std::unique_ptr<record_reader> begin() override { return std::make_unique<line_reader>(taken_); }
  void set_fields(sample& into, std::span<const std::byte> content) const override {
    into.borrow("text", content);
  }

private:
  const std::string name_ = "stdin";
  std::atomic<bool> taken_ = false;
};

} // namespace

std::shared_ptr<once_input> standard_input_lines() {
  static const auto only = std::make_shared<line_input>();
  return only;
}

} // namespace leat
