#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/transfers.hpp"

#include <memory>

namespace leat {

/// The requests of all objects that are open now; their thread ends with the last of these. Any
/// thread.
class transfer_pool : not_copied {
public:
  explicit transfer_pool(const transfer_settings& how) : how_(how) {}

  std::shared_ptr<transfers> open();

private:
  const transfer_settings how_;
  mutex mutex_;
  std::weak_ptr<transfers> open_ LEAT_GUARDED_BY(mutex_);
};

/// The one of this process, for all stores.
transfer_pool& process_transfers();

} // namespace leat
