#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Fills `into` with the bytes at `offset`; returns how many there were, fewer only at the end.
using byte_reader = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> into)>;

/// One entry of a tar archive.
struct tar_member {
  /// As stored, with PAX, GNU and ustar long names put together.
  std::string path;
  /// First byte of its first header, extended headers included.
  std::uint64_t begin = 0;
  /// First byte of the content, a multiple of 512 after `begin`.
  std::uint64_t offset = 0;
  /// Bytes of content; 0 for links, directories and devices.
  std::uint64_t size = 0;
  /// A plain file: not a directory, link, device or vendor-specific entry.
  bool regular = false;
  bool directory = false;
  /// The type as its header has it: '1' for a hard link.
  char type = '0';
};

/// What extended headers say about a member, or about all members from there on.
struct tar_attributes {
  std::optional<std::string> path = {};
  std::optional<std::uint64_t> size = {};

  friend bool operator==(const tar_attributes&, const tar_attributes&) = default;
};

/// Where a walk can begin: at the first header of a member, with the attributes that hold for all
/// members there.
struct tar_place {
  std::uint64_t offset = 0;
  tar_attributes global = {};
};

/// What an index keeps of a member's headers, extended ones included, to know them again.
struct tar_header_mark {
  /// Only the end of longer ones counts, which has the member's own header.
  static constexpr std::size_t max_blocks = 8;

  /// A part of a hash of these bytes.
  std::uint32_t hash = 0;
  /// How many blocks before the member's content they are, from 1 to max_blocks.
  std::uint32_t blocks = 0;

  /// `headers`: whole blocks.
  static tar_header_mark of(std::span<const std::byte> headers) noexcept;
  std::size_t bytes() const noexcept;
  friend bool operator==(const tar_header_mark&, const tar_header_mark&) = default;
};

/// Walks the headers of one tar archive, in order, without reading contents. Knows v7, ustar, GNU
/// ('L' names, base-256 numbers) and PAX ('x' and 'g': path, size). Two zero blocks end an archive,
/// and so does one at the end of the file; elsewhere a single zero block is skipped. A file that
/// ends without either is torn: it may have been cut between two members. Used by one thread.
/// Source: POSIX.1-2017 pax, "ustar Interchange Format"; GNU tar 1.34 manual, "Basic Tar Format".
class tar_reader {
public:
  static constexpr std::size_t block_size = 512;
  /// Longest member path in bytes.
  static constexpr std::size_t max_path = 65535;
  /// Largest PAX header in bytes.
  static constexpr std::size_t max_pax = std::size_t{1} << 20;

  /// `file` names the archive in errors.
  tar_reader(std::string file, std::uint64_t file_size, byte_reader read, tar_place from = {});

  /// The next member, or nothing after the last one. Only the next call finds out whether its
  /// content and padding are complete, so that the caller knows which member a tear cuts. Throws
  /// `errc::torn_file` with offset, member, bytes available and needed; `errc::invalid_argument`
  /// for sparse and multi-volume members, and for a file of another kind, saying which.
  std::optional<tar_member> next();

  /// The mark of the last member's headers. The archive is read again for longer ones only.
  tar_header_mark header_mark();
  /// Whether the last error of next() was that of an archive whose members are all complete, but
  /// which has no end mark.
  bool lacks_end_mark() const noexcept { return lacks_end_mark_; }
  /// Once next() has given nothing: where something other than zeros follows the end mark, if it
  /// does. Reads on to there, or to the end of the file.
  std::optional<std::uint64_t> rest();

  const std::string& file() const noexcept { return file_; }
  /// The attributes that held for all members when the last one was read.
  const tar_attributes& global() const noexcept { return global_; }

private:
  /// A view of at most `size` bytes at `offset`, valid until the next call.
  std::span<const std::byte> peek(std::uint64_t offset, std::size_t size);
  bool at_end();
  [[noreturn]] void refuse_end(std::size_t bytes);
  std::uint64_t size_in(std::span<const std::byte> header);
  tar_member describe(std::span<const std::byte> header, char type, std::uint64_t size,
                      tar_attributes& extended) const;
  void take_extension(char type, std::uint64_t size, tar_attributes& extended);
  /// Reads the content of a header itself, at most `limit` bytes; moves past it.
  std::string take_payload(std::uint64_t size, std::size_t limit, std::string_view what);
  void apply_pax(std::string_view records, tar_attributes& to) const;
  /// Moves past content and padding.
  void skip(std::uint64_t size, std::string_view member);
  [[noreturn]] void torn(std::string got, std::string needed) const;
  /// Throws if the file is of another kind, judged by its first header.
  void check_kind(std::span<const std::byte> header) const;
  [[noreturn]] void unsupported(std::string_view what, std::string_view member) const;

  std::string file_;
  std::uint64_t file_size_;
  byte_reader read_;
  std::uint64_t at_;
  tar_attributes global_;
  /// Returned, but not yet skipped.
  std::optional<tar_member> last_;
  bool lacks_end_mark_ = false;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

} // namespace leat
