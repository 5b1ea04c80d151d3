#pragma once

#include "runtime/sources/feed/feed_messages.hpp"
#include "runtime/sources/feed/served_ranks.hpp"
#include "runtime/sources/live/released_lanes.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace leat {

struct feed_server_settings {
  /// Without a journal: no further records are read while those that are kept have so many bytes.
  std::uint64_t memory = std::uint64_t{256} << 20;
};

/// What a feed knows of its records and of the ranks that it serves: how far the source is to be
/// read, what may be forgotten, which records go to whom next. A plain value of one thread at a
/// time, without records: whoever reads the source and whoever has the links ask it, and tell it
/// what has happened.
///
/// A feed assigns nothing to anyone: record n belongs to lane n mod L, and whichever rank has that
/// lane asks for it by its number. What a rank states counts for ever, because no set that is kept
/// needs what it calls covered; so ranks, links and feeds may vanish and come back in any order.
/// With n lanes and ranks a message costs O(log n), and so does a record that comes.
class feed_server {
public:
  /// `own` says which records there are at the beginning.
  explicit feed_server(feed_offer own, const feed_server_settings& settings = {});

  // The source.
  /// All records below this number are to be read. Rises, but not while the memory is full: whoever
  /// reads gets a little beyond it, so it must not follow what has come.
  std::uint64_t wanted() const noexcept { return wanted_; }
  /// Bytes came, and with them all records below `next`.
  void came(std::uint64_t next, std::uint64_t bytes);
  /// No record comes any more. The end must be on disk, if the feed has a journal.
  void ended();
  /// The source has failed: what came before stays good. All ranks are to hear so.
  void failed(const std::string& why);
  /// No record below this number will be asked for: it may be forgotten.
  std::uint64_t covered() const noexcept { return covered_; }
  /// Those before `first` were forgotten.
  void forgot(std::uint64_t first);
  /// What keeps a rank waiting for a record that is not read, because the memory is full of those
  /// that some lane has not used up. Nothing comes any more if that lane waits for the rank. Empty
  /// if it is not so.
  std::string held_back() const;

  // Links, by numbers of the caller's, which are never used again.
  void join(std::uint64_t link);
  void lost(std::uint64_t link);
  /// What a rank has stated. False if it may not say so: its link is to be cut.
  bool heard(std::uint64_t link, const feed_want& x);
  /// The links whose ranks have something to hear of the source since the last call.
  std::vector<std::uint64_t> take_news() { return ranks_.take_news(); }
  /// What the rank is to hear; nothing if it knows that. `all`: also what it need not hear at once,
  /// as it should now and then.
  std::optional<feed_offer> take_offer(std::uint64_t link, bool all = false);
  /// Records that go to this rank next, at most so many.
  served_rank::portion take_for(std::uint64_t link, std::size_t most);
  /// So many of them, with so many bytes, were handed to the link; these were not.
  void sent(std::uint64_t link, std::uint64_t records, std::uint64_t bytes,
            const served_rank::portion& left = {});
  /// That one was released meanwhile, as all before `first` were: the rank is to hear so.
  void released(std::uint64_t link, std::uint64_t first);
  /// So much time of processors went into reading the source, and into serving ranks.
  void spent(std::chrono::nanoseconds reading, std::chrono::nanoseconds sending) noexcept;

  const feed_offer& state() const noexcept { return own_; }

private:
  /// Bytes that came together, and the number of the record that their last byte belongs to.
  struct piece {
    std::uint64_t record = 0;
    std::uint64_t bytes = 0;
  };

  void cover(const feed_want& x);
  bool is_full() const noexcept { return !own_.has_journal && bytes_kept_ >= settings_.memory; }

  feed_offer own_;
  const feed_server_settings settings_;
  served_ranks ranks_;
  /// As any rank has ever said.
  std::uint64_t looks_below_ = 0;
  /// The same when the memory last had room.
  std::uint64_t wanted_ = 0;
  std::uint64_t lanes_ = 0;
  released_lanes released_;
  std::uint64_t covered_ = 0;
  /// Without a journal: what is kept.
  std::deque<piece> kept_;
  std::uint64_t bytes_kept_ = 0;
};

} // namespace leat
