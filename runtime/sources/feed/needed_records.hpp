#pragma once

#include "runtime/sources/feed/feed_messages.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>

namespace leat {

/// The records of a feed that a rank needs, by their numbers. There may be a million of them, which
/// come and go in about the order of their numbers: those of the rank's lanes lie one after the
/// other, at a place that follows from the number, in blocks of which there are those that have
/// one. So lanes may be as far apart as they like. Few others are needed, while fields are learned.
class needed_records {
public:
  /// Keeps what it refers to.
  using content = std::shared_ptr<const std::string_view>;
  struct record {
    content bytes = {};
    bool is_needed = false;
    bool is_asked = false;
    bool is_urgent = false;
    bool is_of_link = false;
    bool was_read = false;
  };

  explicit needed_records(const lanes_of_rank& place) : rank_(place) {}

  const lanes_of_rank& rank() const noexcept { return rank_; }
  bool is_own(std::uint64_t number) const noexcept;
  /// Null if it is not needed.
  const record* find(std::uint64_t number) const;
  record* find(std::uint64_t number);
  /// It is needed from now on.
  record& make(std::uint64_t number);
  /// One that is needed goes.
  void erase(std::uint64_t number);

  // The rank's own, by their places: those from the first one that is needed to before the end, of
  // which some are not needed.
  std::uint64_t first_place() const noexcept { return first_place_; }
  std::uint64_t end_place() const noexcept;
  /// The first place from this one on that is in a block; the end if there is none.
  std::uint64_t place_from(std::uint64_t place) const noexcept;
  /// At a place in a block.
  record& own(std::uint64_t place) { return *at(place); }
  /// Calls `visit(place, record)` for those in blocks from this place on, until it returns false.
  /// Returns that place, or the end.
  template <class Visit>
  std::uint64_t visit_from(std::uint64_t place, Visit visit) {
    for (auto at = index_from(place / places_per_block); at < blocks_.size(); ++at) {
      auto& in = *blocks_[at];
      const auto end = std::min(end_, in.first() + places_per_block);
      for (auto next = std::max(place, in.first()); next < end; ++next)
        if (!visit(next, in.records[next - in.first()]))
          return next;
    }
    return end_place();
  }
  std::uint64_t number_at(std::uint64_t place) const noexcept;
  std::uint64_t place_of(std::uint64_t number) const noexcept;
  std::map<std::uint64_t, record>& others() noexcept { return others_; }

private:
  static constexpr std::uint64_t places_per_block = 1024;
  struct block {
    std::uint64_t first() const noexcept { return number * places_per_block; }

    std::uint64_t number = 0;
    std::array<record, places_per_block> records = {};
    std::uint64_t num_needed = 0;
  };

  /// Null where there is no block.
  record* at(std::uint64_t place) const noexcept;

  std::size_t index_from(std::uint64_t block_number) const noexcept;
  bool is_at(std::size_t index, std::uint64_t block_number) const noexcept {
    return index < blocks_.size() && blocks_[index]->number == block_number;
  }
  block* block_at(std::uint64_t block_number) const noexcept;

  const lanes_of_rank rank_;
  /// By rising numbers, mostly one after the other.
  std::deque<std::unique_ptr<block>> blocks_;
  /// What was asked for last, which is mostly what is asked for next.
  mutable block* last_ = nullptr;
  /// After the last one that has ever been needed since there were none.
  std::uint64_t end_ = 0;
  std::uint64_t first_place_ = 0;
  std::map<std::uint64_t, record> others_;
};

} // namespace leat
