#include "runtime/sources/stream_pool.hpp"

#include <utility>

namespace leat {

std::uint64_t stream_pool::new_id() {
  mutex_lock lock{mutex_};
  return ++last_id_;
}

std::unique_ptr<packed_stream> stream_pool::take(std::uint64_t id) {
  mutex_lock lock{mutex_};
  return remove(id);
}

void stream_pool::park(std::uint64_t id, std::unique_ptr<packed_stream> stream) {
  // Freed without the lock.
  std::list<parked> dropped;
  std::unique_ptr<packed_stream> replaced;
  mutex_lock lock{mutex_};
  replaced = remove(id);
  const auto bytes = stream->memory();
  by_id_[id] = streams_.insert(streams_.end(), {id, bytes, std::move(stream)});
  bytes_ += bytes;
  while (bytes_ > limit_ && streams_.size() > 1) {
    bytes_ -= streams_.front().bytes;
    by_id_.erase(streams_.front().id);
    dropped.splice(dropped.end(), streams_, streams_.begin());
  }
}

void stream_pool::drop(std::uint64_t id) {
  take(id);
}

std::size_t stream_pool::memory() const {
  mutex_lock lock{mutex_};
  return bytes_;
}

std::unique_ptr<packed_stream> stream_pool::remove(std::uint64_t id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end())
    return {};
  auto stream = std::move(found->second->stream);
  bytes_ -= found->second->bytes;
  streams_.erase(found->second);
  by_id_.erase(found);
  return stream;
}

} // namespace leat
