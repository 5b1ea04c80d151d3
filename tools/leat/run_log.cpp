#include "tools/leat/run_log.hpp"

#include <leat/error.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

namespace leat::command {

namespace {

/// Far above the longest batch of a job: some ten million rows.
constexpr std::size_t max_line_bytes = std::size_t{1} << 30;

} // namespace

log_reader::log_reader(std::filesystem::path file)
    : file_(std::move(file)), stream_(file_, std::ios::binary) {
  if (std::error_code unknown; std::filesystem::is_directory(file_, unknown))
    throw error(errc::invalid_argument, {.stage = "log",
                                         .file = file_.string(),
                                         .got = "a directory",
                                         .needed = "a log of `leat run` or `leat order`"});
  if (!stream_)
    throw error(errc::not_found,
                {.stage = "log", .file = file_.string(), .got = std::strerror(errno)});
}

std::optional<log_line> log_reader::next() {
  if (!read_line())
    return std::nullopt;
  ++number_;
  try {
    return parse_log_line(text_);
  } catch (const std::exception& problem) {
    fail(problem.what());
  }
}

/// The next line in `text_`. False if there is none, or one without its end.
bool log_reader::read_line() {
  text_.clear();
  auto& bytes = *stream_.rdbuf();
  for (auto c = bytes.sbumpc(); c != std::filebuf::traits_type::eof(); c = bytes.sbumpc()) {
    if (c == '\n')
      return true;
    // Avoids reading a file that is not a log at all, and may be endless.
    if ((text_.empty() && c != '{') || text_.size() >= max_line_bytes) {
      ++number_;
      fail(text_.empty() ? "it does not begin with {"
                         : "longer than " + std::to_string(max_line_bytes) + " bytes");
    }
    text_ += static_cast<char>(c);
  }
  return false;
}

void log_reader::fail(const std::string& why) const {
  throw error(errc::torn_file, {.stage = "log",
                                .file = file_.string(),
                                .got = "line " + std::to_string(number_) + ": " + why,
                                .needed = "a JSON object of `leat run` or `leat order`"});
}

} // namespace leat::command
