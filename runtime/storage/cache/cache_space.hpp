#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/cache/block_id.hpp"
#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// Room in a cache's directory, and who has to leave to make some. All processes together keep
/// within the limit: they count in a file there, and whoever finds it full looks at all files,
/// corrects the count, and removes the blocks that were used longest ago. The time of a block's
/// last use is its file's time of change, which readers set: access times are not kept everywhere.
///
/// What this process's own objects have in the cache stays, and so does all that was used since it
/// began. So data that does not fit fills the cache once, and from then on that part of it is
/// found in every epoch: with least recently used ones removed, a shuffled epoch of twice as much
/// data would find next to nothing. Any thread; calls block.
class cache_space : not_copied {
public:
  /// `directory` outlives this.
  cache_space(const file_descriptor& directory, const cache_settings& how);

  void set_limit(std::uint64_t bytes) noexcept;
  /// This process reads an object.
  void uses(const hash128& key) noexcept;
  /// False, now and then without a look, while the cache is full of what may not leave: spares
  /// those who would take room the work before it.
  bool may_have_room() noexcept;
  /// Makes room for a block of so many bytes, which has been claimed, and counts it. False if there
  /// is none.
  bool take(std::uint64_t bytes);

  /// When this process began, by the file system's clock, in nanoseconds since 1970.
  std::int64_t begun() const noexcept { return begun_; }

private:
  struct old_block {
    std::int64_t used = 0;
    std::uint64_t bytes = 0;
    block_id id = {};
  };

  bool count(std::uint64_t bytes) LEAT_REQUIRES(mutex_);
  bool open_count() LEAT_REQUIRES(mutex_);
  bool make_room(std::uint64_t bytes) LEAT_REQUIRES(mutex_);
  bool is_used(const hash128& key) const noexcept;
  std::uint64_t look(std::vector<old_block>& old, std::size_t& files) const LEAT_REQUIRES(mutex_);
  std::uint64_t part_bytes(const std::string& path) const;
  std::uint64_t free_bytes() const;
  bool write_count(std::uint64_t total) const;

  /// A bit for each hash of a key: those of a thousand objects keep one old block in 4,000, those
  /// of a million one in five, in 512 KiB whatever their number.
  static constexpr std::size_t key_bits = std::size_t{1} << 22;

  const file_descriptor& directory_;
  std::atomic<std::uint64_t> limit_;
  std::uint64_t reserve_ = 0;
  std::int64_t begun_ = 0;
  std::vector<std::atomic<std::uint64_t>> keys_;
  /// So many more are refused before anybody looks again.
  std::atomic<std::size_t> refusals_{0};
  mutex mutex_;
  file_descriptor count_ LEAT_GUARDED_BY(mutex_);
  /// What all files take, when they were last looked at.
  std::uint64_t counted_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
