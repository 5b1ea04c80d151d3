#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/cache/cache_directory.hpp"
#include "runtime/storage/cache/mapped_block.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace leat {

/// The blocks of a cache that this process has mapped: those that were read more than once, as
/// mapping one costs more than a read of a file, and of them the ones that were used last. They
/// hold no descriptor. One whose file was changed or removed is closed when it is read next. Any
/// thread.
class open_blocks : not_copied {
public:
  /// Seconds since some moment.
  using clock = std::int64_t (*)() noexcept;

  /// `directory` outlives this.
  explicit open_blocks(cache_directory& directory, clock seconds = seconds_of_system)
      : directory_(directory), seconds_(seconds), read_once_(most_open) {}

  /// Whether the block is open.
  bool has(const block_id& id) noexcept;
  /// As `cache_directory::expect`; counts as a read.
  bool expect(const block_id& id, std::size_t size, std::size_t begin, std::size_t end);
  /// As `cache_directory::read_into`.
  cache_directory::found read_into(const block_id& id, std::size_t size, std::size_t begin,
                                   std::span<std::byte> into);

  /// A gibibyte of addresses, and at most as much of a disk.
  static constexpr std::size_t most_open = 1024;

private:
  static std::int64_t seconds_of_system() noexcept;

  struct entry {
    block_id id = {};
    std::shared_ptr<mapped_block> block = {};
    /// When it was opened, in seconds.
    std::int64_t since = 0;
  };
  using entries = std::list<entry>;

  std::shared_ptr<mapped_block> find(const block_id& id);
  void count_read(const block_id& id, std::size_t size);
  bool is_read_again(const block_id& id);
  void add(const block_id& id, std::shared_ptr<mapped_block> block);
  void close(const block_id& id);

  cache_directory& directory_;
  const clock seconds_;
  mutex mutex_;
  /// In the order of their last use.
  entries open_ LEAT_GUARDED_BY(mutex_);
  std::unordered_map<block_id, entries::iterator, hash_of_block> places_ LEAT_GUARDED_BY(mutex_);
  /// Hashes of blocks that were read lately, each at a place that it shares with others.
  std::vector<std::size_t> read_once_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
