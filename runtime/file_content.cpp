#include "runtime/file_content.hpp"

#include "runtime/open_files.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace leat {

std::string content_of(const std::string& path, const std::string& stage, std::uint64_t limit) {
  const auto file = file_descriptor::open(path);
  std::string content;
  std::array<char, 1 << 16> block;
  for (;;) {
    const auto n = ::read(file.get(), block.data(), block.size());
    if (n == 0)
      return content;
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw_errno(stage, path, "a file of text");
    content.append(block.data(), static_cast<std::size_t>(n));
    if (content.size() > limit)
      throw error(errc::invalid_argument, {.stage = stage,
                                           .file = path,
                                           .got = "more than " + std::to_string(limit) + " bytes",
                                           .needed = "a smaller file"});
  }
}

} // namespace leat
