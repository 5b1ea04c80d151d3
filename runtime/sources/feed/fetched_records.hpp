#pragma once

#include "runtime/sources/feed/feed_messages.hpp"
#include "runtime/sources/feed/needed_records.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace leat {

/// The records of a feed that a rank needs, from when it needs one until it drops it; and what came
/// of them by the present link. Smaller numbers are needed first. A plain value.
class fetched_records {
public:
  using content = needed_records::content;

  explicit fetched_records(const lanes_of_rank& place) : all_(place) {}

  /// What `owner` has, as long as the content is there; null: a copy.
  static content kept(std::string_view text, const std::shared_ptr<const void>& owner);

  // Users.
  void need(std::uint64_t number);
  /// Somebody does nothing else until it is here. It has to be needed.
  void await(std::uint64_t number);
  /// Null if it is not here.
  content find(std::uint64_t number) const;
  /// It is here, and was read: it stays as long as what is held has at most so many bytes, and
  /// others that were read before it go first.
  void note_read(std::uint64_t number, std::uint64_t most_held);
  /// Does nothing if it is not needed.
  void drop(std::uint64_t number);
  /// Drops those of this lane of the rank, as far as they are needed.
  void drop_below(std::uint64_t number, std::uint64_t lane);

  // The link.
  /// There is a new one: by this nothing was asked for, and nothing has come.
  void relink();
  /// Records below `below` that are to be asked for, in their order; each is given once. While more
  /// than half of `most` records are under way, only what is awaited and the first one: a job may
  /// look at any number of records ahead.
  std::vector<std::uint64_t> take_unasked(std::uint64_t below, std::size_t most);
  /// The first one is not here.
  bool lacks_first() const;
  /// Those that are awaited, and the first one if `is_full`; of what has been asked for and has not
  /// come. Each is given once.
  std::vector<std::uint64_t> take_urgent(bool is_full);
  /// A record may come now, by what was asked for. `is_full`: only one that was urgent.
  bool may_come(std::uint64_t number, bool is_full) const;
  /// It has come. Nothing is kept that nobody needs.
  void put(std::uint64_t number, content bytes);

  /// By the present link no record before `first` comes any more: the first one of these that is
  /// needed and not here.
  std::optional<std::uint64_t> missing_below(std::uint64_t first);
  /// Something is needed that was not asked for, or has not come.
  bool is_waiting() const noexcept { return unasked_ > 0 || under_way_ > 0; }
  /// Records that were read and are here.
  std::size_t num_read() const noexcept { return num_read_; }
  /// Of what is here.
  std::uint64_t bytes_held() const noexcept { return held_; }
  /// That came by the present link, and those of them that are needed no more.
  std::uint64_t bytes_received() const noexcept { return received_; }
  std::uint64_t bytes_used() const noexcept { return used_; }

private:
  using record = needed_records::record;

  needed_records all_;
  std::set<std::uint64_t> awaited_;
  /// Those that were read, in that order; some of them are not needed any more, but not many more
  /// than are.
  std::deque<std::uint64_t> read_;
  std::size_t num_read_ = 0;
  /// Own records before this place need not be asked for.
  std::uint64_t asks_from_ = 0;
  /// Records that are needed, were not asked for, and are not here.
  std::size_t unasked_ = 0;
  /// Records that were asked for and have not come, whether they are needed or not.
  std::size_t under_way_ = 0;
  /// Those among them that were dropped meanwhile: once for each time that they were asked for.
  std::multiset<std::uint64_t> given_up_;
  std::uint64_t held_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t used_ = 0;
};

} // namespace leat
