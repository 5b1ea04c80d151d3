#include "runtime/job/bad_sample_log.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/output_place.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace leat {

namespace {

std::uint64_t number_behind(std::string_view line, std::string_view name) {
  auto at = line.find(name);
  return at == std::string_view::npos ? 0
                                      : std::strtoull(line.data() + at + name.size(), nullptr, 10);
}

/// Logs are few and small: one lock serves the whole process. A cut replaces its file, and lines
/// that another rank appended meanwhile would be lost with the old one.
mutex& right_to_write() {
  static mutex right;
  return right;
}

constexpr auto log_name = "bad sample log";
constexpr std::size_t largest_log = std::size_t{1} << 40;

} // namespace

bad_sample_log::bad_sample_log(std::string path) : path_(std::move(path)) {
  check_is_path(path_, log_name);
}

void bad_sample_log::cut(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank,
                         std::uint64_t world_size) {
  if (path_.empty())
    return;
  mutex_lock lock{right_to_write()};
  const auto place = place_of_output(path_, log_name);
  std::error_code unknown;
  // What went to anything other than a file cannot be taken back.
  if (!place.is_file || !std::filesystem::exists(place.file, unknown))
    return;
  std::istringstream in{read_whole_file(place.file.string(), largest_log, log_name)};
  std::string kept;
  std::string line;
  while (std::getline(in, line) && !in.eof()) { // a line without its newline is torn
    const auto e = number_behind(line, "\"epoch\":");
    const bool is_after = e > epoch || (e == epoch && number_behind(line, "\"step\":") >= step);
    if (!is_after || number_behind(line, "\"rank\":") % world_size != rank)
      kept += line + "\n";
  }
  write_output(place.file, kept, log_name);
}

void bad_sample_log::append(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank,
                            const std::vector<bad_row>& rows) {
  if (path_.empty() || rows.empty())
    return;
  std::ostringstream lines;
  for (const auto& x : rows) {
    lines << "{\"epoch\":" << epoch << ",\"step\":" << step << ",\"rank\":" << rank
          << ",\"position\":" << x.position << ",\"id\":\"" << json_escaped(x.id)
          << "\",\"cause\":\"" << to_string(x.why) << "\",\"text\":\"" << json_escaped(x.text)
          << "\",\"substitute\":";
    if (x.substitute)
      lines << '"' << json_escaped(*x.substitute) << '"';
    else
      lines << "null";
    lines << "}\n";
  }
  const auto text = lines.str();
  mutex_lock lock{right_to_write()};
  const auto file =
      open_output(place_of_output(path_, log_name), O_WRONLY | O_APPEND | O_CREAT, log_name);
  // With one write, unless there is too little room: ranks of one process may share the file.
  for (std::string_view rest = text; !rest.empty();) {
    const auto n = uninterrupted([&] { return ::write(file.get(), rest.data(), rest.size()); });
    if (n < 0)
      throw_errno(log_name, path_, counted(text.size(), "more byte"));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

} // namespace leat
