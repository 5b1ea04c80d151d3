#include "runtime/device/pinned_memory.hpp"

#include <leat/notice.hpp>

#include <utility>

namespace leat {

bool pinned_memory::pin(std::byte* pages, std::size_t bytes) {
  const auto refusal = calls_->pin(pages, bytes);
  if (refusal && !was_refused_.exchange(true))
    notice("loader: the memory of batches is not pinned, as the driver of " + calls_->name()
           + " refuses it (" + *refusal
           + "): copies take several times longer. A limit for locked memory (ulimit -l) is the "
             "usual cause");
  return !refusal;
}

void* pinned_memory::do_allocate(std::size_t bytes, std::size_t) {
  huge_buffer pages{bytes};
  auto* const at = pages.data();
  const bool is_pinned = pin(at, bytes); // without the lock: a notice may run a program's function
  const mutex_lock lock{mutex_};
  blocks_[at] = {std::move(pages), is_pinned};
  return at;
}

void pinned_memory::do_deallocate(void* at, std::size_t, std::size_t) {
  block freed;
  {
    const mutex_lock lock{mutex_};
    freed = std::move(blocks_.extract(at).mapped());
  }
  if (freed.is_pinned)
    calls_->unpin(static_cast<std::byte*>(at));
}

} // namespace leat
