#include "runtime/storage/shared_room.hpp"

#include <utility>

namespace leat {

class shared_room::block {
public:
  block() : bytes_(std::make_unique_for_overwrite<std::byte[]>(block_bytes)) {}

  /// Null if there is too little room left.
  std::byte* take(std::size_t bytes) noexcept {
    if (block_bytes - used_ < bytes)
      return nullptr;
    return bytes_.get() + std::exchange(used_, used_ + bytes);
  }
  bool renew() noexcept {
    used_ = 0;
    return true;
  }

private:
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

shared_room::shared_room(std::size_t most_kept)
    : pool_(std::make_shared<object_pool<block>>(most_kept)) {}

shared_room::~shared_room() = default;

shared_room::place shared_room::take(std::size_t bytes) {
  bytes = aligned(bytes);
  if (bytes > most_bytes_shared) {
    const std::shared_ptr<std::byte[]> own{new std::byte[bytes]};
    return {own.get(), own};
  }
  auto* at = current_ ? current_->take(bytes) : nullptr;
  if (!at) {
    current_ = nullptr; // if nobody else holds it, it returns to the pool and is taken next
    current_ = pool_->take();
    at = current_->take(bytes);
  }
  return {at, current_};
}

} // namespace leat
