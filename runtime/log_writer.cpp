#include "runtime/log_writer.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace leat {

log_writer::log_writer(std::filesystem::path file)
    : file_(std::move(file)),
      descriptor_(::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0)
    fail("open");
  remove_torn_line();
}

log_writer::~log_writer() {
  ::close(descriptor_);
}

void log_writer::append(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    auto written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      fail("write");
    rest.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

void log_writer::remove_torn_line() {
  auto end = ::lseek(descriptor_, 0, SEEK_END);
  std::array<char, 4096> block;
  while (end > 0) {
    auto begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    auto got = ::pread(descriptor_, block.data(), static_cast<std::size_t>(end - begin), begin);
    if (got != end - begin)
      fail("read");
    auto newline = std::string_view{block.data(), static_cast<std::size_t>(got)}.rfind('\n');
    if (newline != std::string_view::npos) {
      end = begin + static_cast<off_t>(newline) + 1;
      break;
    }
    end = begin;
  }
  // Devices and pipes have no length to cut.
  if (end >= 0 && ::ftruncate(descriptor_, end) != 0 && errno != EINVAL)
    fail("truncate");
}

void log_writer::fail(const std::string& doing) const {
  throw error(errc::io,
              {.stage = "log", .file = file_.string(), .got = doing + ": " + std::strerror(errno)});
}

} // namespace leat
