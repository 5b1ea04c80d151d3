#include "runtime/storage/remote/transfer_pool.hpp"

#include "runtime/base/threads/fork_check.hpp"

#include <sys/random.h>

#include <cstdint>

namespace leat {

namespace {

/// Different in each process: they decide when to ask again, never what.
std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  (void)::getrandom(&seed, sizeof seed, GRND_NONBLOCK);
  return seed;
}

} // namespace

std::shared_ptr<transfers> transfer_pool::open() {
  const mutex_lock lock{mutex_};
  auto x = open_.lock();
  if (!x) {
    x = std::make_shared<transfers>(how_);
    open_ = x;
  }
  return x;
}

transfer_pool& process_transfers() {
  static transfer_pool first{{.retry = {.seed = random_seed()}}};
  if (!is_maimed_by_fork())
    return first;
  static transfer_pool of_child{{.retry = {.seed = random_seed()}}};
  return of_child;
}

} // namespace leat
