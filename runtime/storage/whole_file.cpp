#include "runtime/storage/whole_file.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/output_place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace leat {

file_descriptor open_input(const std::string& path) {
  const auto own = own_descriptor(path);
  if (!own) {
    auto opened = file_descriptor::open(path);
    wait_in_reads(opened);
    return opened;
  }
  file_descriptor file{
      uninterrupted([&] { return ::fcntl(*own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); })};
  if (!file)
    throw_errno("open", path, "a readable file");
  return file;
}

std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage) {
  constexpr std::size_t block = 1 << 16;
  const auto file = open_input(path);
  std::string bytes;
  for (;;) { // a pipe has no size that could be asked for first
    const auto had = bytes.size();
    bytes.resize(had + std::min(block, limit + 1 - had));
    const auto n =
        uninterrupted([&] { return ::read(file.get(), bytes.data() + had, bytes.size() - had); });
    if (n < 0)
      throw_errno(stage, path, "a readable file");
    bytes.resize(had + static_cast<std::size_t>(n));
    if (n == 0)
      return bytes;
    if (bytes.size() > limit)
      throw_file_error(errc::invalid_argument, stage, path,
                       "more than " + std::to_string(limit) + " bytes",
                       "at most that many: check that the path names the right file");
  }
}

} // namespace leat
