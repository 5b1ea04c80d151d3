#pragma once

#include "runtime/network/links/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// What travels between a rank and the worker nodes that make rows for it, on connections of their
// own. After a frame's header come the length of its words (4 bytes, little-endian), the words, and
// the payload, to the frame's end. Frames are sent on credit: each costs its length and
// `cost_of_frame`, and may be sent while some credit is left, so that one that is larger than the
// window goes, too. A `credit` frame, whose number is the bytes it adds, has no body and costs
// nothing.

inline constexpr std::uint32_t most_bulk_words = 16 << 10;
/// What is larger travels in several frames, whose words say so.
inline constexpr std::uint32_t most_bulk_payload = 16 << 20;
/// For what a frame costs both ends besides its bytes.
inline constexpr std::uint32_t cost_of_frame = 256;
/// No receiver has more room than this.
inline constexpr std::int64_t most_credit = std::int64_t{1} << 40;

constexpr std::int64_t cost_of(std::size_t length) noexcept {
  return static_cast<std::int64_t>(length) + cost_of_frame;
}

/// A frame to be sent.
struct bulk_frame {
  frame_kind kind = frame_kind::note;
  std::uint64_t number = 0;
  /// At most `most_bulk_words`.
  std::string words = {};
  /// Together at most `most_bulk_payload`. They are not copied, and must not change until the frame
  /// is sent.
  std::vector<std::span<const char>> payload = {};
  /// Let go once the frame is sent, or never will be.
  std::shared_ptr<const void> owner = {};
};

/// What precedes a frame's payload. Throws `errc::invalid_argument` if the frame is too large.
std::string front_of(const bulk_frame& x);

/// A frame that has come as far as its payload.
struct bulk_head {
  frame_kind kind = frame_kind::note;
  std::uint64_t number = 0;
  std::string_view words = {};
  /// Bytes.
  std::size_t payload = 0;

  /// Of its sender's credit, in bytes: what its receiver grants again when it is done with it.
  std::int64_t cost() const noexcept { return cost_of(4 + words.size() + payload); }
};

/// Where a payload is received.
struct bulk_room {
  /// Together as large as the payload.
  std::vector<std::span<char>> parts = {};
  /// Keeps them as long as something may be written there.
  std::shared_ptr<void> owner = {};
};

} // namespace leat
