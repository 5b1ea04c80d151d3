#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/sources/feed/feed_messages.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace leat {

// The seam between a feed and a queue: what a new kind of input has to implement, and all of it.
//
// An input is a file (pair) below runtime/sources/feed/inputs/ that implements the two classes here
// and is made from a URL. A feed reads it by a placed_input, which keeps the place of each record
// beside its content, in the feed's journal or in its memory. An input keeps nothing itself: after
// a restart it is told the last place that the journal has, and continues after it.
//
// This is exact as long as the input
// - adds records in an order that does not change when they are read again after the same place, or
//   leaves out those that it has added before (a queue that delivers again what was not
//   acknowledged, for one: what comes at or before the last place is dropped);
// - acknowledges nothing by itself. A record that was added is on disk, if there is a journal, but
//   only one that a kept snapshot covers is never asked for again.

/// A record on its way out of its origin. Both are any bytes, and are copied by whoever gets them.
struct placed_record {
  /// Where the origin has it, as the input writes it: the id of an entry of a Redis stream, a
  /// sequence number. At most `most_place_bytes`; may be empty, if the input can neither continue
  /// nor acknowledge.
  std::string_view place = {};
  /// As the input's format says: the bytes of a line, or those that `bytes_of` makes of a sample.
  std::string_view content = {};
};

inline constexpr std::size_t most_place_bytes = 4096;

/// Takes records from their origin: a connection, say. `take` is called by one thread,
/// `acknowledge` by another one, perhaps at the same time; both may block. Both throw `leat::error`
/// (errc::io) that names the origin and says what it said and what to do; that ends the feed for
/// all ranks, so what may pass, as a server that restarts, is to be waited for within, and logged.
class feed_reader : not_copied {
public:
  virtual ~feed_reader() = default;

  /// Blocks until something comes, and adds one record or several in a row. False once the origin
  /// has ended for ever, or after `interrupt`. What was added before it throws is kept.
  virtual bool take(const std::function<void(const placed_record&)>& add) = 0;

  /// No kept snapshot needs these records: the origin may forget them. In the order in which they
  /// were added, each at least once; after a restart some come again, and these may be of an
  /// earlier process. Never before the record is in the journal. False if it ended before all were
  /// acknowledged, after `interrupt`.
  virtual bool acknowledge(std::span<const std::string> places) = 0;

  /// Makes calls that block, and all later ones, return soon. Any thread.
  virtual void interrupt() noexcept = 0;
};

/// An origin, not read yet.
class feed_input : not_copied {
public:
  virtual ~feed_input() = default;

  /// For texts and logs, without passwords: "redis://host:6379/stream".
  virtual const std::string& name() const = 0;
  /// Of all its contents.
  virtual feed_format format() const = 0;
  /// False where acknowledgements change nothing: then none is made.
  virtual bool takes_acknowledgements() const { return true; }
  /// Begins to read after the record at `last`, which is the last one that was kept before; empty:
  /// none was, and the origin's beginning is meant, or what it has not had acknowledged. Does not
  /// block: `take` connects.
  virtual std::unique_ptr<feed_reader> begin(const std::string& last) = 0;
};

} // namespace leat
