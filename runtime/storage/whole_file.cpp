#include "runtime/storage/whole_file.hpp"

#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace leat {

std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage) {
  constexpr std::size_t block = 1 << 16;
  const auto refuse = [&](const std::string& got, const std::string& needed) {
    throw error(errc::invalid_argument,
                {.stage = stage, .file = path, .got = got, .needed = needed});
  };
  const auto file = file_descriptor::open(path);
  std::string bytes;
  for (;;) {
    const auto had = bytes.size();
    bytes.resize(had + std::min(block, limit + 1 - had));
    const auto n =
        uninterrupted([&] { return ::read(file.get(), bytes.data() + had, bytes.size() - had); });
    if (n < 0 && errno == EISDIR)
      refuse("a directory", "a file");
    if (n < 0)
      throw_errno(stage, path, "a readable file");
    bytes.resize(had + static_cast<std::size_t>(n));
    if (n == 0)
      return bytes;
    if (bytes.size() > limit)
      refuse("more than " + std::to_string(limit) + " bytes",
             "at most that many: check that the path names the right file");
  }
}

} // namespace leat
