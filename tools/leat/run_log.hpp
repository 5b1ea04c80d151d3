#pragma once

#include "runtime/storage/log_writer.hpp"

#include <leat/resume_point.hpp>

#include "tools/leat/verify/log_line.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace leat::command {

using leat::log_writer;

/// Reads a log line by line, in constant memory. Ignores a torn last line.
class log_reader {
public:
  /// Throws as `open_input`.
  explicit log_reader(std::filesystem::path file);

  /// The next line, or nothing at the end. Throws `errc::torn_file` with the line's number.
  std::optional<log_line> next();

private:
  bool read_line();
  bool refill();
  [[noreturn]] void fail(const std::string& why) const;

  std::filesystem::path file_;
  file_descriptor from_;
  std::string block_;
  /// Index of the next byte of the block.
  std::size_t at_ = 0;
  std::string text_;
  std::uint64_t number_ = 0;
};

/// How many steps a log has from `at` on, without those that were discarded since; 0 unless it ends
/// in this term of the cluster. Throws as log_reader.
std::uint64_t steps_in_log(const std::string& file, const resume_point& at,
                           std::uint64_t cluster_term);

} // namespace leat::command
