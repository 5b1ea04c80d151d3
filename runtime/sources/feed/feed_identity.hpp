#pragma once

#include "runtime/sources/feed/feed_messages.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// What a feed's journal says of itself, in a file beside its records, so that the records of
/// another feed, or of no feed, are never served in their place.
struct feed_identity {
  feed_stream stream = {};
  feed_format format = feed_format::lines;
  /// Each record is kept with its place at its origin, as those of queues and files are.
  bool has_places = false;
  /// The number of records, once the source has ended. A source that begins anew after a restart
  /// has ended all the same: ranks may have finished their epochs by then.
  std::optional<std::uint64_t> ended_at = {};

  friend bool operator==(const feed_identity&, const feed_identity&) = default;
};

std::string encode(const feed_identity& x);
/// `file` is named in errors. Throws `errc::torn_file` for damaged bytes, `errc::mismatch` for
/// those of a version that this one does not know.
feed_identity decode_feed_identity(std::string_view bytes, const std::string& file);

/// What the directory says, or else, if it has no records yet, that it belongs to `own` from now
/// on. The caller has opened the journal there, and so holds its lock; `records` is the number of
/// the record that comes next. `takes_over`: also if it has records of no feed. Throws
/// `errc::mismatch` if it belongs to another feed, has records of no feed, or lacks those that it
/// had at its end; `errc::io`; as decode_feed_identity.
feed_identity identity_in(const std::filesystem::path& directory, const feed_identity& own,
                          std::uint64_t records, bool takes_over = false);

/// Notes that the source has ended, even for after a power cut. Nobody may hear of the end before.
/// Throws `errc::io`.
void note_end_of_feed(const std::filesystem::path& directory, feed_identity& own,
                      std::uint64_t records);

} // namespace leat
