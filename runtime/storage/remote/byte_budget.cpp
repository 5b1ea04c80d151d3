#include "runtime/storage/remote/byte_budget.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace leat {

namespace {

constexpr std::size_t page = 4096;
/// Smaller ones the allocator has at hand.
constexpr std::size_t least_mapped = std::size_t{32} << 10;
/// Larger ones get their pages as they are written: the size of a record may be a lie.
constexpr std::size_t most_at_once = std::size_t{8} << 20;

/// Null if there is no memory, or if the process has as many mappings as it may have.
std::byte* mapped(std::size_t bytes) noexcept {
  auto* const x =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (bytes > most_at_once ? 0 : MAP_POPULATE), -1, 0);
  return x == MAP_FAILED ? nullptr : static_cast<std::byte*>(x);
}

} // namespace

byte_budget& process_read_ahead() noexcept {
  static byte_budget only{std::uint64_t{256} << 20};
  return only;
}

read_buffers::~read_buffers() {
  clear();
}

std::shared_ptr<std::byte[]> read_buffers::take(std::size_t bytes) {
  if (bytes < least_mapped)
    return std::shared_ptr<std::byte[]>{new std::byte[bytes]};
  auto capacity = (bytes + page - 1) / page * page;
  std::byte* found = nullptr;
  {
    const mutex_lock lock{mutex_};
    const auto at = unused_.lower_bound(capacity);
    if (at != unused_.end() && at->first <= capacity + capacity / 8) {
      capacity = at->first;
      found = at->second;
      unused_.erase(at);
      unused_bytes_ -= capacity;
    }
    while (!found && !unused_.empty() && budget_.used() + unused_bytes_ > budget_.limit())
      free_first();
  }
  if (!found)
    found = mapped(capacity);
  if (!found) // the allocator needs no mapping for each
    return std::shared_ptr<std::byte[]>{new std::byte[bytes]};
  // If the constructor throws, it has called the deleter.
  return {found,
          [home = shared_from_this(), capacity](std::byte* x) { home->give_back(x, capacity); }};
}

void read_buffers::give_back(std::byte* bytes, std::size_t capacity) noexcept {
  const mutex_lock lock{mutex_};
  try {
    if (unused_bytes_ + capacity <= most_unused
        && budget_.used() + unused_bytes_ + capacity <= budget_.limit()) {
      unused_.emplace_hint(unused_.lower_bound(capacity), capacity,
                           bytes); // used last, taken first
      unused_bytes_ += capacity;
      return;
    }
  } catch (...) { // no memory for the entry
  }
  ::munmap(bytes, capacity);
}

void read_buffers::free_first() noexcept {
  const auto at = unused_.begin();
  unused_bytes_ -= at->first;
  ::munmap(at->second, at->first);
  unused_.erase(at);
}

void read_buffers::clear() noexcept {
  const mutex_lock lock{mutex_};
  while (!unused_.empty())
    free_first();
}

} // namespace leat
