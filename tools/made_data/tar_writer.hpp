#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

namespace leat {

/// Writes a tar file of plain members (POSIX ustar). The bytes depend on names and contents alone:
/// time 0, owner 0, mode 0644.
/// The file appears under its name with finish(); until then, and after a failure, not at all.
class tar_writer : not_copied {
public:
  /// Throws `leat::error` (io), as all members do, with file and offset.
  explicit tar_writer(std::filesystem::path path);
  ~tar_writer();

  /// Appends a member. `name`: 1 to 100 bytes; `content`: less than 8 GiB. Throws `leat::error`
  /// (invalid_argument, io).
  void add(std::string_view name, std::span<const std::uint8_t> content);
  void add(std::string_view name, std::string_view content);

  /// Writes the end of the archive and gives the file its name. The last call.
  void finish();

private:
  void write(std::string_view bytes);

  std::filesystem::path path_;
  std::filesystem::path unfinished_;
  std::ofstream out_;
  std::uint64_t offset_ = 0;
};

} // namespace leat
