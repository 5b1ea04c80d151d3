#include "runtime/storage/shared_bytes.hpp"

#include <algorithm>
#include <utility>

namespace leat {

std::span<std::byte> shared_bytes::room(std::size_t bytes) {
  if (const auto needed = size_ + bytes + slack; needed > capacity_) {
    const auto capacity = std::max(needed, 2 * size_);
    auto larger = std::make_unique<std::byte[]>(capacity); // the slack has to be something
    std::copy_n(bytes_.get(), size_, larger.get());
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  return {bytes_.get() + size_, bytes};
}

void shared_bytes::remove_front(std::size_t bytes) noexcept {
  std::copy(bytes_.get() + bytes, bytes_.get() + size_, bytes_.get());
  size_ -= bytes;
}

std::shared_ptr<shared_bytes> shared_bytes_pool::get() {
  std::unique_ptr<shared_bytes> x;
  {
    const mutex_lock lock{mutex_};
    kept_.reserve(most_kept); // taking one back allocates nothing
    if (!kept_.empty()) {
      x = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  if (x)
    x->clear();
  else
    x = std::make_unique<shared_bytes>();
  const auto give_back = [pool = weak_from_this()](shared_bytes* done) {
    std::unique_ptr<shared_bytes> owned{done};
    if (const auto there = pool.lock())
      there->take_back(std::move(owned));
  };
  return {x.release(), give_back};
}

void shared_bytes_pool::take_back(std::unique_ptr<shared_bytes> x) noexcept {
  const mutex_lock lock{mutex_};
  if (kept_.size() < most_kept)
    kept_.push_back(std::move(x));
}

} // namespace leat
