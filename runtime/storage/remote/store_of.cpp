#include "runtime/storage/remote/store_of.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/remote/http_store.hpp"
#include "runtime/storage/remote/s3_store.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <strings.h>

namespace leat {

const object_store& store_of(std::string_view name) {
  const std::string scheme{scheme_of(name)};
  for (const char* web : {"http", "https"})
    if (::strcasecmp(scheme.c_str(), web) == 0)
      return web_store();
  if (scheme == "s3")
    return process_s3_store();
  return local_store();
}

std::shared_ptr<stored_objects> open_named(std::vector<std::string> names,
                                           const std::string& stage) {
  const auto& store = names.empty() ? local_store() : store_of(names.front());
  for (auto& x : names) {
    if (&store_of(x) != &store)
      throw_file_error(errc::invalid_argument, stage, without_secrets(x),
                       "a file elsewhere than the first one", one_store);
    if (store.is_near() && !scheme_of(x).empty())
      throw_file_error(errc::invalid_argument, stage, without_secrets(x),
                       "a name with \"://\" that names no server that leat reads from",
                       "s3://, https:// or http://, or \"./\" before the name of a file");
    x = store.full_name(x);
  }
  return store.open(std::move(names));
}

} // namespace leat
