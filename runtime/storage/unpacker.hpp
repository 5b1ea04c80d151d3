#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/stream_files.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace leat {

/// Decompresses consecutive gzip members or zstd frames. Used by one thread.
class unpacker : not_copied {
public:
  /// Base-2 logarithm of the largest window of a zstd frame: what `zstd --long=27` makes. Larger
  /// ones are refused, since those of hundreds of lanes would not fit into memory.
  static constexpr int max_window_log = 27;

  virtual ~unpacker() = default;

  struct progress {
    /// Bytes of the input that were consumed.
    std::size_t taken = 0;
    /// Bytes of the output that were filled.
    std::size_t given = 0;
    /// The consumed input ends a member or frame, and all of its data was given.
    bool ended = false;
  };

  /// Decompresses as far as input and output allow, up to the end of a member or frame. If it fills
  /// all of the output, there may be more to come without further input.
  /// Throws `errc::torn_file` for damaged input, `errc::invalid_argument` for a large window.
  virtual progress run(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Bytes of memory that it holds now.
  virtual std::size_t memory() const = 0;

  /// `how` is not `none`.
  static std::unique_ptr<unpacker> make(packing how);
};

} // namespace leat
