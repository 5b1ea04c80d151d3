#pragma once

#include "demos/command/log_line.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace leat::command {

/// Appends lines to a log, each with one write(2), so that SIGKILL tears the last one at most.
class log_writer {
public:
  /// Opens or makes the file and removes a torn last line: one without a newline.
  /// One writer at a time. Throws `errc::io`.
  explicit log_writer(std::filesystem::path file);
  ~log_writer();
  log_writer(const log_writer&) = delete;
  log_writer& operator=(const log_writer&) = delete;

  /// Adds a newline. When it returns, the line is the kernel's: it outlives this process.
  /// Throws `errc::io`.
  void append(std::string line);

private:
  void remove_torn_line();
  [[noreturn]] void fail(const std::string& doing) const;

  std::filesystem::path file_;
  int descriptor_;
};

/// Reads a log line by line, in constant memory. A torn last line is as if it were not there.
class log_reader {
public:
  /// Throws `errc::not_found`.
  explicit log_reader(std::filesystem::path file);

  /// The next line, or nothing at the end. Throws `errc::torn_file` with the line's number.
  std::optional<log_line> next();

private:
  std::filesystem::path file_;
  std::ifstream stream_;
  std::string text_;
  std::uint64_t number_ = 0;
};

} // namespace leat::command
