#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <leat/tables.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace leat {

/// A decoded block, or why it cannot be decoded.
struct cached_block {
  table_block content = {};
  /// What is wrong with it; empty: nothing.
  std::string damage = {};
};

/// Decoded blocks: those that were used last. Each is decoded by one thread, while others that need
/// it wait; where blocks are read in stored order, a thread that would wait decodes one of the next
/// blocks instead. Any thread.
class block_cache {
public:
  using decode_function = std::function<cached_block(std::uint64_t block)>;

  /// `decode` is called without a lock.
  block_cache(std::uint64_t blocks, std::uint64_t max_bytes, decode_function decode);

  /// Throws what `decode` throws.
  std::shared_ptr<const cached_block> get(std::uint64_t block) const;

  /// Whether it is here, or will be soon.
  bool has(std::uint64_t block) const;

  /// How often a block was decoded that had been decoded before.
  std::uint64_t decoded_again() const;

private:
  using block_ptr = std::shared_ptr<const cached_block>;
  struct entry {
    std::uint64_t block;
    block_ptr content;
  };

  /// What a thread that needs `block`, which another one decodes, should decode meanwhile.
  std::optional<std::uint64_t> ahead_of(std::uint64_t block) const LEAT_REQUIRES(mutex_);
  block_ptr find(std::uint64_t block) const LEAT_REQUIRES(mutex_);
  /// Decodes a block that is marked as being decoded; the lock is not held meanwhile.
  block_ptr decode(std::uint64_t block) const;
  /// Puts a block in, and takes out those that have no room any more.
  std::list<entry> put(std::uint64_t block, block_ptr content) const LEAT_REQUIRES(mutex_);

  std::uint64_t blocks_;
  std::uint64_t max_bytes_;
  decode_function decode_;
  mutable mutex mutex_;
  mutable condition_variable changed_;
  /// Used last first.
  mutable std::list<entry> kept_ LEAT_GUARDED_BY(mutex_);
  mutable std::unordered_map<std::uint64_t, std::list<entry>::iterator>
      by_block_ LEAT_GUARDED_BY(mutex_);
  mutable std::set<std::uint64_t> in_work_ LEAT_GUARDED_BY(mutex_);
  mutable std::uint64_t bytes_ LEAT_GUARDED_BY(mutex_) = 0;
  mutable std::vector<bool> was_decoded_ LEAT_GUARDED_BY(mutex_);
  mutable std::uint64_t decoded_again_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
