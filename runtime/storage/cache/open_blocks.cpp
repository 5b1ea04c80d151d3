#include "runtime/storage/cache/open_blocks.hpp"

#include <ctime>
#include <iterator>
#include <utility>

namespace leat {

/// By a clock that costs next to nothing.
std::int64_t open_blocks::seconds_of_system() noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

bool open_blocks::has(const block_id& id) noexcept {
  const mutex_lock lock{mutex_};
  return places_.contains(id);
}

cache_directory::found open_blocks::read_into(const block_id& id, std::size_t size,
                                              std::size_t begin, std::span<std::byte> into) {
  using found = cache_directory::found;
  if (const auto block = find(id)) {
    if (block->read(begin, into))
      return found::bytes;
    close(id);
  }
  const auto is = directory_.read_into(id, size, begin, into);
  if (is == found::bytes)
    count_read(id, size);
  return is;
}

bool open_blocks::expect(const block_id& id, std::size_t size, std::size_t begin, std::size_t end) {
  if (has(id))
    return true;
  if (!directory_.expect(id, size, begin, end))
    return false;
  count_read(id, size);
  return true;
}

/// Opens what was read before.
void open_blocks::count_read(const block_id& id, std::size_t size) {
  if (is_read_again(id))
    if (auto block = directory_.map(id, size))
      add(id, std::move(block));
}

/// One that is open for a minute is closed, so that its use is written down when its file is read.
std::shared_ptr<mapped_block> open_blocks::find(const block_id& id) {
  std::shared_ptr<mapped_block> block;
  bool is_due = false;
  {
    const mutex_lock lock{mutex_};
    const auto at = places_.find(id);
    if (at == places_.end())
      return {};
    open_.splice(open_.end(), open_, at->second);
    block = at->second->block;
    is_due = seconds_() - at->second->since >= cache_directory::seconds_between_uses;
  }
  if (!is_due && directory_.is_same(id, *block))
    return block;
  close(id);
  return {};
}

bool open_blocks::is_read_again(const block_id& id) {
  const auto hash = hash_of_block{}(id);
  const mutex_lock lock{mutex_};
  return std::exchange(read_once_[hash % read_once_.size()], hash) == hash;
}

void open_blocks::add(const block_id& id, std::shared_ptr<mapped_block> block) {
  std::shared_ptr<mapped_block> closed; // without the lock
  const mutex_lock lock{mutex_};
  if (places_.contains(id))
    return; // another thread was faster
  open_.push_back({.id = id, .block = std::move(block), .since = seconds_()});
  try {
    places_.emplace(id, std::prev(open_.end()));
  } catch (...) {
    open_.pop_back();
    throw;
  }
  if (open_.size() <= most_open)
    return;
  closed = std::move(open_.front().block);
  places_.erase(open_.front().id);
  open_.pop_front();
}

void open_blocks::close(const block_id& id) {
  std::shared_ptr<mapped_block> closed; // without the lock
  const mutex_lock lock{mutex_};
  const auto at = places_.find(id);
  if (at == places_.end())
    return;
  closed = std::move(at->second->block);
  open_.erase(at->second);
  places_.erase(at);
}

} // namespace leat
