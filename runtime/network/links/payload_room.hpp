#pragma once

#include "runtime/network/links/bulk_frame.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace leat {

/// Memory for the payload of one frame after the other, for a receiver that keeps nothing of it:
/// small ones share theirs, which the processor's caches still hold. One thread.
class payload_room {
public:
  /// For so many bytes, of which none is set. What the last one had is gone.
  bulk_room take(std::size_t bytes) {
    if (bytes > capacity_ || capacity_ > most_kept) {
      room_ = std::make_shared_for_overwrite<char[]>(bytes);
      capacity_ = bytes;
    }
    return {.parts = {std::span{room_.get(), bytes}}, .owner = room_};
  }
  /// What has come of the frame, whose payload has so many bytes; until `take` is called again.
  std::string_view received(std::size_t bytes) const noexcept { return {room_.get(), bytes}; }

private:
  static constexpr std::size_t most_kept = std::size_t{2} << 20;

  std::shared_ptr<char[]> room_;
  std::size_t capacity_ = 0;
};

} // namespace leat
