#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// How records come, and so how they are stored in a journal.
enum class record_format : std::uint8_t {
  /// Pieces of text, cut at any byte; each record ends with '\n'.
  lines,
  /// Whole records, each after a header with checksums (frame.hpp).
  frames,
};

/// Keeps the records that came, by their numbers. One thread adds; any number of threads read and
/// release.
class record_store : not_copied {
public:
  virtual ~record_store() = default;

  /// Number of the first record that is kept, and of the one that will come next.
  virtual std::uint64_t first() const = 0;
  virtual std::uint64_t next() const = 0;

  // For lines:

  /// Takes what a descriptor has ready. Returns as `read_ready` does: 0 bytes are the end of input.
  virtual std::optional<std::size_t> take(int from) = 0;
  /// Ends the last line, if it has not ended yet.
  virtual void end_line() = 0;

  // For frames:

  virtual void append(std::string_view content) = 0;

  /// Reads the content of a record into the sample's scratch buffer. Throws `errc::not_found`
  /// (released, or not come yet), `errc::io`, `errc::torn_file`.
  virtual std::span<const std::byte> read(std::uint64_t number, sample& into) const = 0;

  struct shared_content {
    /// Null if the record is not in memory.
    std::shared_ptr<const void> owner = {};
    std::string_view bytes = {};
  };
  /// The content of a record where it lies, if that is in memory. Throws as `read`.
  virtual shared_content share(std::uint64_t number) const {
    (void)number;
    return {};
  }

  /// Forgets records below `number`, at most next(), as far as that is cheap.
  virtual void release_below(std::uint64_t number) = 0;

  /// Whether records outlive the process.
  virtual bool is_journal() const noexcept = 0;
};

/// Throws the `errc::not_found` of a record that a store does not have.
[[noreturn]] void throw_no_record(const record_store& store, std::uint64_t number,
                                  const std::string& file = {});

} // namespace leat
