#include "runtime/storage/remote/transfer_pool.hpp"

#include "runtime/base/threads/fork_check.hpp"
#include "runtime/storage/cache/cached_fetches.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <sys/random.h>

#include <cstdint>
#include <utility>

namespace leat {

namespace {

/// Different in each process: they decide when to ask again, never what.
std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  (void)::getrandom(&seed, sizeof seed, GRND_NONBLOCK);
  return seed;
}

/// They live as long as the process.
std::shared_ptr<transfer_counts> shared_counts() noexcept {
  return {std::shared_ptr<void>{}, &process_counts()};
}

} // namespace

std::shared_ptr<transfers> transfer_pool::requests() {
  auto x = open_.lock();
  if (!x) {
    x = std::make_shared<transfers>(how_, counts_);
    open_ = x;
  }
  return x;
}

std::shared_ptr<range_fetcher> transfer_pool::open() {
  const mutex_lock lock{mutex_};
  return requests();
}

std::shared_ptr<range_fetcher> transfer_pool::open(const cache_settings& cache) {
  if (cache.directory.empty())
    return open();
  const mutex_lock lock{mutex_};
  auto& known = caches_[cache.directory];
  if (auto x = known.open.lock()) {
    if (cache.limit != cache_settings{}.limit)
      x->set_limit(cache.limit);
    return x;
  }
  auto from = requests();
  try {
    auto x = std::make_shared<cached_fetches>(from, cache, cached_);
    known.open = x;
    return x;
  } catch (const error& x) {
    if (x.code() == errc::invalid_argument)
      throw;
    if (!std::exchange(known.is_told, true))
      notice("cache: it is done without: " + std::string{x.what()});
    return from;
  }
}

transfer_pool& process_transfers() {
  static transfer_pool first{{.retry = {.seed = random_seed()}}, shared_counts()};
  if (!is_maimed_by_fork())
    return first;
  static transfer_pool of_child{{.retry = {.seed = random_seed()}}, shared_counts()};
  return of_child;
}

} // namespace leat
