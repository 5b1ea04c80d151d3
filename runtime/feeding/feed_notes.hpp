#pragma once

#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/bulk_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace leat {

/// What a note between a feed and a rank says: the number of its frame. A number that is none of
/// these says nothing but that its sender is there.
enum class feed_note : std::uint64_t {
  /// From a rank, once a second: it is there. A feed says what it offers instead.
  alive = 0,
  /// From a feed: its words are an encoded feed_offer.
  offer = 1,
  /// From a rank: it takes no records of this feed; its words say why.
  refused = 2,
  /// From a rank: it has had all records, and leaves.
  done = 3,
  /// From a rank: it leaves before it has had all records, and has said what it needs no more.
  leaving = 4,
  /// From a rank: another process serves the same records to it; its words say so. That one may
  /// end, so the feed may ask again.
  served = 5,
};

/// Of the text of a refusal, what is repeated to users.
inline constexpr std::size_t most_refusal_text = 4096;

inline bulk_frame frame_of(feed_note what, std::string words = {}) {
  return {.kind = frame_kind::note,
          .number = static_cast<std::uint64_t>(what),
          .words = std::move(words)};
}

} // namespace leat
