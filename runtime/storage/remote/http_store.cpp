#include "runtime/storage/remote/http_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/remote_objects.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <utility>

namespace leat {

void http_store::list(const std::string& folder, const std::function<void(listed_object)>&) const {
  throw_file_error(errc::invalid_argument, "list", full_name(folder),
                   "a folder of a web server, which cannot be listed",
                   "the names of the files; braces stand for several: \"{000..099}.tar\"");
}

object_stat http_store::stat(const std::string& name) const {
  return {.is = object_kind::plain, .version = open({name}, read_pattern::normal)->stat(0)};
}

std::shared_ptr<stored_objects> http_store::open(std::vector<std::string> names,
                                                 read_pattern) const {
  std::vector<std::shared_ptr<remote_object>> objects;
  objects.reserve(names.size());
  for (const auto& x : names) {
    const web_address at{x, "read", web_address::spelling::full};
    objects.push_back(
        std::make_shared<remote_object>(at.name(), std::string{at.server()}, at.url()));
  }
  return open_remote_objects(std::move(objects), open_transfers());
}

std::shared_ptr<stored_objects> http_store::open(std::shared_ptr<const object_names>,
                                                 std::string stage) const {
  throw_error(errc::invalid_argument, std::move(stage), "a folder of a web server",
              "the names of the files: HTTP cannot list folders");
}

asked_server http_store::server_of(const std::string& name) const {
  return {.place = std::string{web_address{name, "open"}.server()}};
}

std::string http_store::full_name(const std::string& name) const {
  return web_address{name, "open"}.name();
}

} // namespace leat
