#include "runtime/bad_sample_log.hpp"

#include "runtime/open_files.hpp"
#include "runtime/utf8.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

namespace leat {

namespace {

std::uint64_t number_behind(std::string_view line, std::string_view name) {
  auto at = line.find(name);
  return at == std::string_view::npos ? 0
                                      : std::strtoull(line.data() + at + name.size(), nullptr, 10);
}

/// Logs are few and small: one right for all of the process. A cut replaces its file, and what
/// another rank appends meanwhile would be lost with the old one.
std::mutex& right_to_write() {
  static std::mutex mutex;
  return mutex;
}

[[noreturn]] void fail(const std::string& path) {
  throw error(errc::io, {.stage = "bad sample log", .file = path, .got = std::strerror(errno)});
}

} // namespace

std::string json_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (n == 0) {
      result += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      result += {'\\', text[0]};
    } else if (c < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", c);
      result += code.data();
    } else {
      result += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return result;
}

void bad_sample_log::cut(std::uint64_t epoch, std::uint64_t step, std::uint64_t rank,
                         std::uint64_t world_size) {
  std::lock_guard lock{right_to_write()};
  std::ifstream in{path_, std::ios::binary};
  if (path_.empty() || !in)
    return;
  std::string kept;
  std::string line;
  while (std::getline(in, line) && !in.eof()) { // a line without its newline is torn
    const auto e = number_behind(line, "\"epoch\":");
    const bool is_behind = e > epoch || (e == epoch && number_behind(line, "\"step\":") >= step);
    if (!is_behind || number_behind(line, "\"rank\":") % world_size != rank)
      kept += line + "\n";
  }
  const auto fresh = path_ + ".new";
  std::ofstream out{fresh, std::ios::binary | std::ios::trunc};
  if (!(out << kept) || !out.flush() || std::rename(fresh.c_str(), path_.c_str()) != 0)
    fail(path_);
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
  std::lock_guard lock{right_to_write()};
  const file_descriptor file{
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)};
  if (!file)
    fail(path_);
  // One write: ranks of one process may share the file.
  const auto written = ::write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()))
    fail(path_);
}

} // namespace leat
