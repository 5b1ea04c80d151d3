#pragma once

#include "runtime/storage/object_store.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// A store whose objects are asked of servers: who makes the requests, and the cache before them.
class remote_store : public object_store {
public:
  /// Says, for each opening anew, where what is fetched is kept.
  using cache_reader = std::function<cache_settings()>;

  /// What fetches objects, with the cache if there is one.
  std::shared_ptr<range_fetcher> open_transfers() const;

protected:
  /// `pool`: null for the process's; outlives this. `cache`: null if nothing is kept.
  remote_store(transfer_pool* pool, cache_reader cache)
      : pool_(std::shared_ptr<void>{}, pool), cache_(std::move(cache)) {}
  remote_store(std::shared_ptr<transfer_pool> own, cache_reader cache)
      : pool_(std::move(own)), cache_(std::move(cache)) {}

  /// What asks for lists and facts, which no cache keeps.
  std::shared_ptr<range_fetcher> open_requests() const { return pool().open(); }
  /// How servers are asked.
  const transfer_settings& settings() const { return pool().settings(); }
  /// Nothing if there is no object of this name.
  std::optional<object_stat> find_object(const std::string& name) const;

private:
  transfer_pool& pool() const { return pool_ ? *pool_ : process_transfers(); }

  const std::shared_ptr<transfer_pool> pool_;
  const cache_reader cache_;
};

} // namespace leat
