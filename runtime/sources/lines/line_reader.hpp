#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/stream_opener.hpp"
#include "runtime/storage/byte_window.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// A line of a file that does not allow random access.
class line_content final : public payload {
public:
  std::vector<std::byte> bytes;
};

/// A part of a text file: the lines that begin in it.
struct line_range {
  std::uint64_t unit = 0;
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Finds lines, from one of them on. Reads plain files in large blocks, and keeps none of their
/// content.
class line_reader final : public unit_reader {
public:
  /// Longest line.
  static constexpr std::uint64_t max_line = std::uint64_t{1} << 28;

  /// `opener` must outlive it.
  line_reader(const stream_opener& opener, const line_range& part, const stream_place& from);

  bool next(stream_record& into) override;
  stream_place place() const override;

private:
  /// Throws if the file is of a kind other than text.
  void check_kind();
  /// Where the first line at or after `begin` begins, or the end of the part.
  std::uint64_t first_line();
  /// Bytes up to the next "\n", or to the end of the file.
  std::uint64_t length_of_line();
  [[noreturn]] void too_long() const;

  line_range part_;
  std::string path_;
  /// Records carry their content.
  bool has_content_;
  byte_window window_;
  bool begun_ = false;
  std::uint64_t number_;
  /// Where the next line begins.
  std::uint64_t at_;
  std::string restart_;
};

} // namespace leat
