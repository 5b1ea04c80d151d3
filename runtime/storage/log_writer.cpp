#include "runtime/storage/log_writer.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace leat {

log_writer::log_writer(std::filesystem::path file) : file_(std::move(file)) {
  const auto place = place_of_output(file_, "log");
  // Anything other than a file may allow writing only.
  descriptor_ = open_output(place, (place.is_file ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND, "log");
  if (place.is_file)
    remove_torn_line();
}

void log_writer::append(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    auto written = ::write(descriptor_.get(), rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      fail("write");
    rest.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

void log_writer::remove_torn_line() {
  // Searches backward for the last newline: a log can be long, a line is not.
  auto end = ::lseek(descriptor_.get(), 0, SEEK_END);
  std::array<char, 4096> block;
  while (end > 0) {
    auto begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    auto got = uninterrupted([&] {
      return ::pread(descriptor_.get(), block.data(), static_cast<std::size_t>(end - begin), begin);
    });
    if (got != end - begin)
      fail("read");
    auto newline = std::string_view{block.data(), static_cast<std::size_t>(got)}.rfind('\n');
    if (newline != std::string_view::npos) {
      end = begin + static_cast<off_t>(newline) + 1;
      break;
    }
    end = begin;
  }
  if (uninterrupted([&] { return ::ftruncate(descriptor_.get(), end); }) != 0)
    fail("truncate");
}

void log_writer::fail(const std::string& doing) const {
  throw error(errc::io,
              {.stage = "log", .file = file_.string(), .got = doing + ": " + system_words(errno)});
}

} // namespace leat
