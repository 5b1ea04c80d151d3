#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/byte_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Reads what is expected to be read soon, as far ahead as a budget of memory allows, in the order
/// in which it is needed, and keeps it until it has been read. What was not expected, or not begun
/// in time, is read at once whatever the budget says: so nobody waits for memory. Any thread.
class expected_reads final : public stored_objects {
public:
  expected_reads(std::shared_ptr<stored_objects> from, byte_budget& budget)
      : from_(std::move(from)), budget_(budget) {}
  ~expected_reads() override;

  std::string name(std::size_t object) const override { return from_->name(object); }
  object_version stat(std::size_t object) override { return from_->stat(object); }
  void expect_stats() noexcept override { from_->expect_stats(); }

  void read(std::span<const read_part> parts, read_done done, const std::stop_token& stop) override;
  void read_ahead(std::span<const read_part> parts, read_done done,
                  const std::stop_token& stop) override {
    from_->read_ahead(parts, std::move(done), stop);
  }
  bool expect_soon(std::span<const expected_range> ranges) noexcept override;
  void expect_nothing() noexcept override;

  /// Bytes that are kept or in flight.
  std::uint64_t bytes_held() const;

private:
  /// A range that is expected. Once begun, its memory belongs to the budget.
  struct piece {
    enum class state : std::uint8_t { waiting, in_flight, here, dropped };

    expected_range range;
    std::uint64_t number = 0;
    state is = state::waiting;
    /// Shared with those who copy from them.
    std::shared_ptr<std::byte[]> bytes = {};
    /// How many bytes came, once they are here: the object may end before the range.
    std::uint64_t size = 0;
    /// Bytes that have not been read yet.
    std::uint64_t left = 0;
    /// Reads that wait for it: called once it is here, or dropped.
    std::vector<std::function<void()>> waiting = {};

    bool has(const read_part& x) const noexcept {
      return is == state::here && x.offset + x.into.size() <= range.offset + size;
    }
  };
  using piece_ptr = std::shared_ptr<piece>;
  using place = std::pair<std::size_t, std::uint64_t>;
  class pending_read;

  piece_ptr find(const read_part& x) const LEAT_REQUIRES(mutex_);
  /// The pieces that have the parts, or will have them; empty if one of them is not even begun.
  std::vector<piece_ptr> pieces_of(std::span<const read_part> parts) LEAT_REQUIRES(mutex_);
  std::shared_ptr<pending_read> wait_for(std::span<const read_part> parts,
                                         std::vector<piece_ptr>& pieces, read_done& done,
                                         const std::stop_token& stop);
  /// Copies the parts out of pieces; false if not all of it is here.
  bool give(std::span<const read_part> parts, std::span<const piece_ptr> pieces);
  void add(expected_range x) LEAT_REQUIRES(mutex_);
  void begin_some();
  void begin(const piece_ptr& x);
  void end(const piece_ptr& x, std::uint64_t bytes);
  void drop(piece& x) LEAT_REQUIRES(mutex_);
  void drop_passed(std::uint64_t number) LEAT_REQUIRES(mutex_);

  /// What was expected so much earlier than what is read now will not be read any more.
  static constexpr std::uint64_t most_out_of_order = 4096;
  /// As record_blocks reads them.
  static constexpr std::uint64_t small_bytes = 1024;
  static constexpr std::uint64_t block_bytes = 8192;

  std::shared_ptr<stored_objects> from_;
  byte_budget& budget_;
  std::stop_source stop_;
  mutable mutex mutex_;
  condition_variable none_in_flight_;
  std::map<place, piece_ptr> pieces_ LEAT_GUARDED_BY(mutex_);
  /// Those that are not begun yet, in order.
  std::deque<piece_ptr> waiting_ LEAT_GUARDED_BY(mutex_);
  /// All, in order; some have been dropped.
  std::deque<piece_ptr> in_order_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_number_ LEAT_GUARDED_BY(mutex_) = 0;
  std::size_t in_flight_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t held_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
