#include "runtime/base/system_words.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace leat {

std::string system_words(int code) {
  auto text = std::generic_category().message(code);
  rlimit limit{};
  if (code == EFBIG && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    text += " (no file of this process may grow beyond " + std::to_string(limit.rlim_cur)
            + " bytes: raise ulimit -f)";
  return text;
}

} // namespace leat
