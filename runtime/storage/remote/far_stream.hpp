#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/byte_stream.hpp"
#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/byte_budget.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stop_token>

namespace leat {

/// The bytes of an object that is not on this machine, in order: blocks are in flight before their
/// reader comes to them, more and larger ones the further it gets. Used by one thread at a time.
class far_stream final : public byte_stream {
public:
  /// Reads from `offset` to `end`, the object's size. `from` outlives it.
  far_stream(stored_objects& from, std::size_t object, std::uint64_t offset, std::uint64_t end,
             byte_budget& budget = process_read_ahead(),
             transfer_counts& counts = process_counts());
  ~far_stream() override;

  std::size_t read(std::span<std::byte> into) override;
  std::uint64_t offset() const override { return offset_; }

private:
  static constexpr std::uint64_t first_block = std::uint64_t{64} << 10;
  static constexpr std::uint64_t largest_block = std::uint64_t{1} << 20;
  static constexpr std::size_t most_blocks = 8;

  struct block {
    std::uint64_t begin = 0;
    std::size_t size = 0;
    std::shared_ptr<std::byte[]> bytes = {};
    /// Written with the lock held.
    bool is_here = false;
    read_result result = {};
  };

  /// Begins to read the next blocks: in any case the one that the reader needs now.
  void begin_some();
  void begin(block& x, bool is_needed);
  void wait_for(const block& x);
  void drop_first();

  stored_objects& from_;
  std::size_t object_;
  std::uint64_t offset_;
  std::uint64_t end_;
  const std::shared_ptr<read_buffers> buffers_;
  transfer_counts& counts_;
  budget_wait without_budget_{counts_};
  /// Where the next block begins.
  std::uint64_t next_;
  std::uint64_t block_bytes_ = first_block;
  std::size_t blocks_ = 1;
  std::deque<std::unique_ptr<block>> ahead_;
  std::stop_source stop_;
  mutex mutex_;
  condition_variable came_;
  std::size_t in_flight_ LEAT_GUARDED_BY(mutex_) = 0;
};

/// Reads at rising offsets out of one far_stream, passing over what lies between unless that is
/// much.
class rising_reads {
public:
  rising_reads(stored_objects& from, std::size_t object, std::uint64_t end)
      : from_(from), object_(object), end_(end) {}

  /// Fills `into`; returns how many bytes there were, fewer only at the end. Throws as
  /// `byte_stream::read`.
  std::size_t read(std::uint64_t offset, std::span<std::byte> into);

private:
  /// A gap that takes longer to read than another request takes.
  static constexpr std::uint64_t large_gap = std::uint64_t{4} << 20;

  stored_objects& from_;
  std::size_t object_;
  std::uint64_t end_;
  std::unique_ptr<far_stream> stream_;
};

} // namespace leat
