#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/cache/cache_counts.hpp"
#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/remote/transfers.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace leat {

class cached_fetches;

/// The requests of all objects that are open now, and the caches before them; their threads end
/// with the last of these. Any thread.
class transfer_pool : not_copied {
public:
  explicit transfer_pool(const transfer_settings& how, std::shared_ptr<transfer_counts> counts =
                                                           std::make_shared<transfer_counts>())
      : how_(how), counts_(std::move(counts)) {}

  /// Without a cache.
  std::shared_ptr<range_fetcher> open();
  /// With the cache of this directory: one for all who name it, with the limit that was given last.
  /// A cache whose directory cannot be used is done without, and a notice says so. Throws
  /// `errc::invalid_argument` if its limit is too small.
  std::shared_ptr<range_fetcher> open(const cache_settings& cache);

  /// How servers are asked.
  const transfer_settings& settings() const noexcept { return how_; }
  /// Of all its caches, also those that are closed.
  const cache_counts& cached() const noexcept { return *cached_; }

private:
  struct known_cache {
    std::weak_ptr<cached_fetches> open = {};
    bool is_told = false;
  };

  std::shared_ptr<transfers> requests() LEAT_REQUIRES(mutex_);

  const transfer_settings how_;
  const std::shared_ptr<cache_counts> cached_ = std::make_shared<cache_counts>();
  const std::shared_ptr<transfer_counts> counts_;
  mutex mutex_;
  std::weak_ptr<transfers> open_ LEAT_GUARDED_BY(mutex_);
  /// By their directories.
  std::map<std::string, known_cache> caches_ LEAT_GUARDED_BY(mutex_);
};

/// The one of this process, for all stores; `process_counts` are its counts.
transfer_pool& process_transfers();

} // namespace leat
