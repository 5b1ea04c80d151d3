#include "runtime/base/huge_buffer.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace leat {

namespace {

/// The page size, or a divisor of it, on every system that leat runs on.
constexpr std::size_t page = 4096;

} // namespace

huge_buffer::huge_buffer(std::size_t bytes, std::shared_ptr<std::pmr::memory_resource> from,
                         content at_first)
    : size_(bytes), from_(std::move(from)) {
  if (bytes == 0)
    return;
  if (from_) {
    data_ = static_cast<std::byte*>(from_->allocate(bytes, page));
    if (at_first == content::zeros)
      std::memset(data_, 0, bytes);
    return;
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc{};
  constexpr std::size_t worth_it = std::size_t{4} << 20;
  if (bytes >= worth_it)
    ::madvise(memory, bytes, MADV_HUGEPAGE); // a hint: a refusal does no harm
  data_ = static_cast<std::byte*>(memory);
}

huge_buffer::huge_buffer(huge_buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
      from_(std::move(other.from_)) {}

huge_buffer& huge_buffer::operator=(huge_buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(from_, other.from_);
  return *this;
}

huge_buffer::~huge_buffer() {
  if (data_ && from_)
    from_->deallocate(data_, size_, page);
  else if (data_)
    ::munmap(data_, size_);
}

} // namespace leat
