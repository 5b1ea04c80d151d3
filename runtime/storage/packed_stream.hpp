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

/// What a packed stream unpacks to. All of it is checked: a file that ends inside a member or
/// frame is torn, and so is one without any. What is packed is seen by its first bytes, whatever
/// the file's name says; other data is refused as what it is.
class packed_stream final : public byte_stream {
public:
  /// `in` stands at `from.packed`. `file` is named in errors, and `how` is what its name says.
  packed_stream(std::string file, packing how, std::unique_ptr<byte_stream> in, restart_point from);

  std::size_t read(std::span<std::byte> into) override;
  std::uint64_t offset() const override { return offset_; }
  restart_point restart() const override { return restart_; }
  /// Bytes that it holds now.
  std::size_t memory() const;

private:
  /// One step of the unpacker.
  unpacker::progress run(std::span<std::byte> into);
  /// The end of a member follows its last byte: seeing it takes no more output, and whether it is
  /// seen must not depend on where blocks end. `nothing` is empty, but not null.
  void look_for_end(std::span<std::byte> nothing);
  /// False at the end of the packed file.
  bool refill();
  /// How the next member or frame is packed; nothing if what comes is none.
  std::optional<packing> next_packing();
  /// Before a member or frame: takes the unpacker that it needs. Throws if none can begin there.
  void begin_member();
  [[noreturn]] void torn() const;

  std::string file_;
  packing how_;
  std::unique_ptr<unpacker> unpacker_;
  std::unique_ptr<byte_stream> in_;
  std::vector<std::byte> buffer_;
  /// Part of `buffer_`.
  std::span<const std::byte> ready_;
  /// Some of a member or frame was taken, and not its end.
  bool inside_ = false;
  std::uint64_t offset_;
  restart_point restart_;
  /// A member or frame has ended, so that more of them may follow, and nothing else.
  bool has_member_;
};

} // namespace leat
