#include "runtime/storage/remote/remote_store.hpp"

#include <leat/error.hpp>

namespace leat {

std::shared_ptr<range_fetcher> remote_store::open_transfers() const {
  return cache_ ? pool().open(cache_()) : pool().open();
}

std::optional<object_stat> remote_store::find_object(const std::string& name) const {
  try {
    return object_stat{.is = object_kind::plain,
                       .version = open({name}, read_pattern::normal)->stat(0)};
  } catch (const error& x) {
    if (x.code() != errc::not_found)
      throw;
    return {};
  }
}

} // namespace leat
