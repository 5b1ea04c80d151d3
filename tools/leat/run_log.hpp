#pragma once

#include "runtime/storage/log_writer.hpp"

#include "tools/leat/verify/log_line.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

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

} // namespace leat::command
