#include "demos/command/run_log.hpp"

#include <leat/error.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

namespace leat::command {

log_reader::log_reader(std::filesystem::path file)
    : file_(std::move(file)), stream_(file_, std::ios::binary) {
  if (!stream_)
    throw error(errc::not_found,
                {.stage = "log", .file = file_.string(), .got = std::strerror(errno)});
}

std::optional<log_line> log_reader::next() {
  if (!std::getline(stream_, text_) || stream_.eof())
    return std::nullopt;
  ++number_;
  try {
    return parse_log_line(text_);
  } catch (const std::exception& problem) {
    throw error(errc::torn_file, {.stage = "log",
                                  .file = file_.string(),
                                  .got = "line " + std::to_string(number_) + ": " + problem.what(),
                                  .needed = "a JSON object of `leat run` or `leat order`"});
  }
}

} // namespace leat::command
