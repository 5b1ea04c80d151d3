#pragma once

#include "runtime/storage/byte_stream.hpp"
#include "runtime/storage/unpacker.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// The decompressed bytes of a compressed stream. All of it is checked: a file that ends inside a
/// member or frame is torn, and so is one without any. The format is recognized by the first bytes,
/// whatever the file's name says; the error for other data names what it is.
class packed_stream final : public byte_stream {
public:
  /// `in` is at `from.packed`. `file` is named in errors, and `how` is what its name says.
  packed_stream(std::string file, packing how, std::unique_ptr<byte_stream> in, restart_point from);

  std::size_t read(std::span<std::byte> into) override;
  std::uint64_t offset() const override { return offset_; }
  restart_point restart() const override { return restart_; }
  /// Bytes of memory that it holds now.
  std::size_t memory() const;

private:
  /// One step of the unpacker.
  unpacker::progress run(std::span<std::byte> into);
  /// Consumes the end of a member if it follows the last byte of output: this needs no room for
  /// output, and whether the end is seen must not depend on where blocks end. `nothing` is empty,
  /// but not null.
  void look_for_end(std::span<std::byte> nothing);
  /// False at the end of the compressed file.
  bool refill();
  /// The format of the next member or frame; nothing if what comes is neither.
  std::optional<packing> next_packing();
  /// Prepares the unpacker for the next member or frame. Throws if none can begin there.
  void begin_member();
  [[noreturn]] void torn() const;

  std::string file_;
  packing how_;
  std::unique_ptr<unpacker> unpacker_;
  std::unique_ptr<byte_stream> in_;
  std::vector<std::byte> buffer_;
  /// The part of `buffer_` that is yet to be decompressed.
  std::span<const std::byte> ready_;
  /// A part of a member or frame was consumed, but not its end.
  bool inside_ = false;
  std::uint64_t offset_;
  restart_point restart_;
  /// A member or frame has ended: now only more of them may follow.
  bool has_member_;
};

} // namespace leat
