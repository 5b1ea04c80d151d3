#include "runtime/sources/tables/block_cache.hpp"

#include <iterator>
#include <utility>

namespace leat {

namespace {

/// A row may need the block that another row needed before it.
constexpr std::size_t least_kept = 2;

} // namespace

block_cache::block_cache(std::uint64_t blocks, std::uint64_t max_bytes, decode_function decode)
    : blocks_(blocks), max_bytes_(max_bytes), decode_(std::move(decode)), was_decoded_(blocks) {}

std::shared_ptr<const cached_block> block_cache::get(std::uint64_t block) const {
  mutex_lock lock{mutex_};
  while (true) {
    if (auto found = find(block))
      return found;
    auto chosen = block;
    if (in_work_.contains(block)) {
      const auto ahead = ahead_of(block);
      if (!ahead) {
        changed_.wait(mutex_);
        continue;
      }
      chosen = *ahead;
    }
    in_work_.insert(chosen);
    lock.unlock();
    auto made = decode(chosen);
    if (chosen == block)
      return made;
    lock.lock();
  }
}

bool block_cache::has(std::uint64_t block) const {
  const mutex_lock lock{mutex_};
  return by_block_.contains(block) || in_work_.contains(block);
}

std::uint64_t block_cache::decoded_again() const {
  mutex_lock lock{mutex_};
  return decoded_again_;
}

std::optional<std::uint64_t> block_cache::ahead_of(std::uint64_t block) const {
  if (block > 0 && !by_block_.contains(block - 1))
    return std::nullopt; // not in stored order
  auto next = block + 1;
  while (in_work_.contains(next) || by_block_.contains(next))
    ++next;
  if (next >= blocks_)
    return std::nullopt;
  // All that is between them must have room, beside the two that are always kept.
  const auto mean = kept_.empty() ? max_bytes_ / 4 : bytes_ / kept_.size();
  const auto room = mean == 0 ? blocks_ : max_bytes_ / mean;
  return next - block + least_kept <= room ? std::optional{next} : std::nullopt;
}

block_cache::block_ptr block_cache::find(std::uint64_t block) const {
  const auto found = by_block_.find(block);
  if (found == by_block_.end())
    return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->content;
}

block_cache::block_ptr block_cache::decode(std::uint64_t block) const {
  try {
    auto made = std::make_shared<const cached_block>(decode_(block));
    std::list<entry> dropped; // after the lock: to free a block may take long
    mutex_lock lock{mutex_};
    in_work_.erase(block);
    decoded_again_ += was_decoded_[block] ? 1 : 0;
    was_decoded_[block] = true;
    dropped = put(block, made);
    changed_.notify_all();
    lock.unlock();
    return made;
  } catch (...) {
    mutex_lock lock{mutex_};
    in_work_.erase(block);
    changed_.notify_all();
    throw;
  }
}

std::list<block_cache::entry> block_cache::put(std::uint64_t block, block_ptr content) const {
  std::list<entry> dropped;
  bytes_ += content->content.bytes;
  kept_.push_front({block, std::move(content)});
  by_block_[block] = kept_.begin();
  while (bytes_ > max_bytes_ && kept_.size() > least_kept) {
    bytes_ -= kept_.back().content->content.bytes;
    by_block_.erase(kept_.back().block);
    dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
  }
  return dropped;
}

} // namespace leat
