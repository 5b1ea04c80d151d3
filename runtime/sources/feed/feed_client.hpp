#pragma once

#include "runtime/sample/live_source.hpp"
#include "runtime/sources/feed/feed_messages.hpp"
#include "runtime/sources/feed/fetched_records.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Why a feed that offers others is refused, for users. `has_journal`: those that the job has used
/// outlive the process that serves them.
std::string text_of_others(const std::string& feed, bool has_journal);

/// What a rank knows of a feed: which records there are, which ones its rows lack, and what it may
/// ask for. A plain value of one thread at a time.
///
/// Iterators look at numbers alone. Contents of records that are needed are fetched: in their order
/// as far as the window has room, and always the first one, and those that workers wait for.
class feed_client {
public:
  /// `window`: bytes of contents that are held or under way; one record, the first one that is
  /// needed, and those that workers wait for may come on top.
  feed_client(std::string name, std::uint64_t window, const lanes_of_rank& place);

  // Iterators.
  /// Whether the record is there, and that it is wanted.
  live_source::state look(std::uint64_t number);
  /// The job's records are these, as a snapshot or another rank has them: whoever serves others is
  /// refused, unless without a journal they are lost.
  struct known_stream {
    hash128 id = {};
    bool has_journal = true;
  };
  void expect(const known_stream& x) noexcept { stream_ = x; }
  /// The job resumes: it has used the records before `behind`, and needs those from `lowest` on.
  /// Where the feed's records do not fit, that is its failure.
  void resume(std::uint64_t lowest, std::uint64_t behind);
  /// Nothing below `number` is asked for again in this lane, which is one of the rank's, neither
  /// here nor after a restore: as live_source::release_below. It is not needed any more.
  void cover(std::uint64_t number, std::uint64_t lane);
  /// Nothing that is here makes another batch.
  void starve(bool is_starved) noexcept { is_starved_ = is_starved; }

  /// Of rows: their records were looked at.
  fetched_records& records() noexcept { return records_; }

  // The link.
  /// Why a link to the process that says this first is refused; empty: it is to be taken in place
  /// of the present one. It is another feed, or serves other records while those that the rank
  /// knows are still served to it, or can be again.
  std::string refusal_of(const feed_offer& x) const;
  /// There is a new one: what was asked for by others, and has not come, is asked for again.
  void linked();
  void unlinked() noexcept { is_linked_ = false; }
  void heard(const feed_offer& x);
  /// A record has come. One that nobody needs any more is dropped. False if the feed may not send
  /// it: the link is to be cut.
  bool receive(std::uint64_t number, fetched_records::content bytes);
  /// What there is to say; nothing if there is no link, or if it can wait. `all`: also what can
  /// wait, as it should now and then.
  std::optional<feed_want> take_want(bool all = false);

  /// Why the job cannot continue; empty: nothing is wrong. The first failure stays.
  const std::string& failure() const noexcept { return failure_; }
  /// What the feed has said last, by any link.
  const std::optional<feed_offer>& offer() const noexcept { return heard_; }

private:
  std::string fault_of(const feed_offer& x) const;
  void check_needs();
  void fail(const std::string& why);
  feed_want state() const;
  bool can_wait(const feed_want& now) const;

  const std::string name_;
  const std::uint64_t window_;
  const lanes_of_rank place_;

  std::optional<feed_offer> heard_;
  std::optional<known_stream> stream_;
  /// The records that this rank relies on are before it.
  std::uint64_t relies_below_ = 0;
  std::uint64_t needs_from_ = UINT64_MAX;
  std::string failure_;
  fetched_records records_;

  bool is_linked_ = false;
  /// Of the present link: the feed has said what it has; and what was said to it last.
  bool has_heard_ = false;
  std::optional<feed_want> said_;

  bool is_starved_ = false;
  std::uint64_t looks_below_ = 0;
  std::vector<std::uint64_t> covered_;
};

} // namespace leat
