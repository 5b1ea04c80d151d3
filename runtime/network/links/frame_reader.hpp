#pragma once

#include "runtime/network/links/frame.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace leat {

/// Puts frames together from bytes that come in pieces of any size. A frame's own memory is taken
/// when its header is there and allowed, and it is the one that bytes are received into.
class frame_reader {
public:
  explicit frame_reader(const frame_rules& rules) noexcept : rules_(rules) {}

  /// What may come from the next header on.
  void set_rules(const frame_rules& rules) noexcept { rules_ = rules; }
  /// Where the next bytes go: at least one, and none of the frame after this one.
  std::span<char> room() noexcept;
  /// So many bytes have been written there; gives the frame that they complete. Throws
  /// `errc::cluster` for a frame that may not come; nothing may be read after that.
  std::optional<frame> filled(std::size_t bytes);

private:
  frame_rules rules_;
  std::array<char, header_bytes> head_bytes_ = {};
  frame coming_;
  std::size_t got_ = 0;
  bool has_head_ = false;
};

} // namespace leat
