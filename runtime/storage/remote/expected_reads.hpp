#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/block_ranges.hpp"
#include "runtime/storage/remote/byte_budget.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"

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
class expected_reads final : public objects_over {
public:
  expected_reads(std::shared_ptr<stored_objects> from, byte_budget& budget,
                 transfer_counts& counts = process_counts())
      : objects_over(std::move(from)), budget_(budget), counts_(counts),
        buffers_(std::make_shared<read_buffers>(budget)) {}
  ~expected_reads() override;

  void read(std::span<const read_part> parts, read_done done, const std::stop_token& stop) override;
  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) override;
  void read_ahead(std::span<const read_part> parts, read_done done,
                  const std::stop_token& stop) override {
    from().read_ahead(parts, std::move(done), stop);
  }
  bool expect_soon(std::span<const expected_range> ranges) noexcept override;
  bool expect_perhaps(std::span<const expected_range> ranges) noexcept override;
  void expect_nothing() noexcept override;

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
    /// It may be expected yet: it stays even if no byte is left to read.
    bool is_kept = false;
    /// It was begun before it was expected.
    bool is_first = false;
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
  void expect_ranges(std::span<const expected_range> ranges, bool is_sure);
  void add(expected_range x, bool is_sure) LEAT_REQUIRES(mutex_);
  void begin_some();
  void begin(const piece_ptr& x);
  void end(const piece_ptr& x, std::uint64_t bytes);
  void forget_kept() LEAT_REQUIRES(mutex_);
  void drop(piece& x) LEAT_REQUIRES(mutex_);
  void drop_passed(std::uint64_t number) LEAT_REQUIRES(mutex_);

  static constexpr std::size_t most_ever_in_flight = 1024;
  /// What was expected so much earlier than what is read now will not be read any more.
  static constexpr std::uint64_t most_out_of_order = 4096;
  byte_budget& budget_;
  transfer_counts& counts_;
  const std::shared_ptr<read_buffers> buffers_;
  std::stop_source stop_;
  mutable mutex mutex_;
  condition_variable none_in_flight_;
  std::map<place, piece_ptr> pieces_ LEAT_GUARDED_BY(mutex_);
  /// Those that are not begun yet, in order.
  std::deque<piece_ptr> waiting_ LEAT_GUARDED_BY(mutex_);
  /// All, in order; some have been dropped.
  std::deque<piece_ptr> in_order_ LEAT_GUARDED_BY(mutex_);
  /// Those that may be expected.
  struct {
    std::vector<piece_ptr> all = {};
    std::uint64_t bytes = 0;
    std::size_t in_flight = 0;
    /// What was expected first is among them: the job does not begin elsewhere.
    bool are_right = false;
    /// Others wait for them.
    bool go_first = true;
  } kept_ LEAT_GUARDED_BY(mutex_);
  block_ranges blocks_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_number_ LEAT_GUARDED_BY(mutex_) = 0;
  /// Each that ends lets two begin: all at once would take the processor from those who wait for
  /// the first ones, and a server is not asked for so many at a time.
  struct {
    std::size_t now = 0;
    std::size_t most = 64;
  } in_flight_ LEAT_GUARDED_BY(mutex_);
  /// Bytes that are kept or in flight.
  std::uint64_t held_ LEAT_GUARDED_BY(mutex_) = 0;
  budget_wait without_budget_ LEAT_GUARDED_BY(mutex_){counts_};
};

} // namespace leat
