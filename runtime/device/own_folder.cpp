#include "runtime/device/own_folder.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace leat {

namespace fs = std::filesystem;

fs::path own_folder() {
  ::Dl_info found = {};
  ::link_map* map = nullptr;
  std::error_code ignored;
  if (::dladdr1(reinterpret_cast<const void*>(&own_folder), &found, reinterpret_cast<void**>(&map),
                RTLD_DL_LINKMAP)
          == 0
      || !map)
    return {};
  if (map->l_name && *map->l_name) // nothing for the program itself
    return fs::absolute(map->l_name, ignored).parent_path();
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

} // namespace leat
