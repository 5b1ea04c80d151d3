#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/stream_opener.hpp"
#include "runtime/storage/byte_window.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A line of a file that does not allow random access.
class line_content final : public payload {
public:
  std::vector<std::byte> bytes;
};

/// What was read of a plain file, with lines in it and their slack: see line_slack.
class line_block final : public payload {
public:
  explicit line_block(std::shared_ptr<const shared_bytes> x) : held(std::move(x)) {}

  std::shared_ptr<const shared_bytes> held;
};

/// A part of a text file: the lines that begin in it.
struct line_range {
  std::uint64_t unit = 0;
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What people call a line: by its number in the file, from 1, or where nobody has counted those
/// before the part, by its first byte.
std::string name_of_line(const line_range& part, std::uint64_t number, std::uint64_t offset);

/// Finds lines, from one of them on. Reads plain files in blocks; if they are wanted, records of
/// lines that are long enough share these.
class line_reader final : public unit_reader {
public:
  /// Longest line.
  static constexpr std::uint64_t max_line = std::uint64_t{1} << 28;
  /// Sharing shorter ones costs more than reading them again in blocks: see record_blocks.
  static constexpr std::uint64_t shortest_shared = 512;

  /// `opener` must outlive it. Blank lines are counted, and passed over if `passes_blank`.
  line_reader(const stream_opener& opener, const line_range& part, const stream_place& from,
              const reader_options& options, bool passes_blank = false);

  bool next(stream_record& into) override;
  stream_place place() const override;

private:
  struct found_line {
    /// Without its "\n".
    std::uint64_t length = 0;
    /// It is to be passed over.
    bool is_blank = false;
  };

  /// The line at `at_`, which is then passed, as a record; false if it is passed over.
  bool take(stream_record& into);
  void set_content(const found_line& line, stream_record& into);
  /// Throws if the file is of a kind other than text.
  void check_kind();
  /// Where the first line at or after `begin` begins, or the end of the part.
  std::uint64_t first_line();
  /// The block with the line that begins at `at_`; null if it does not have all of it.
  payload_ptr block_of(std::uint64_t length);
  /// The line at `at_`, up to the next "\n" or to the end of the file.
  found_line read_line();
  [[noreturn]] void too_long() const;

  line_range part_;
  reader_options options_;
  bool passes_blank_;
  std::string path_;
  /// Records carry their content.
  bool has_content_;
  /// The newest that was shared.
  std::shared_ptr<const line_block> block_;
  bool begun_ = false;
  std::uint64_t number_;
  /// Where the next line begins.
  std::uint64_t at_;
  std::string restart_;
  byte_window window_;
};

} // namespace leat
