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
  const mutex_lock lock{mutex_};
  auto& kept = blocks_[at];
  kept.pages = std::move(pages);
  kept.is_pinned = pin(at, bytes);
  return at;
}

void pinned_memory::do_deallocate(void* at, std::size_t, std::size_t) {
  const mutex_lock lock{mutex_};
  const auto found = blocks_.find(at);
  if (found->second.is_pinned)
    calls_->unpin(static_cast<std::byte*>(at));
  blocks_.erase(found);
}

} // namespace leat
