#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <filesystem>
#include <string>

namespace leat {

/// Appends lines to a log, each with one write(2), so that SIGKILL tears at most the last one.
class log_writer {
public:
  /// Opens or creates the file and removes a torn last line, one without a newline. Anything other
  /// than a file (/dev/stdout, a FIFO) is written to as it is. One writer at a time. Throws
  /// `errc::io`.
  explicit log_writer(std::filesystem::path file);

  /// Adds a newline. When it returns, the kernel has the line, and it outlives this process.
  /// Throws `errc::io`.
  void append(std::string line);

private:
  void remove_torn_line();
  [[noreturn]] void fail(const std::string& doing) const;

  std::filesystem::path file_;
  file_descriptor descriptor_;
};

} // namespace leat
