#include "runtime/storage/output_place.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace leat {

namespace {

namespace fs = std::filesystem;

/// The kernel's own limit.
constexpr int max_links = 40;

std::optional<int> number_of_own(const std::string& file) {
  const auto own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  for (std::string_view prefix : {"/proc/self/fd/", "/dev/fd/", own.c_str()}) {
    int number = 0;
    if (!file.starts_with(prefix))
      continue;
    const auto [end, problem] =
        std::from_chars(file.data() + prefix.size(), file.data() + file.size(), number);
    if (problem == std::errc{} && end == file.data() + file.size())
      return number;
  }
  return std::nullopt;
}

[[noreturn]] void throw_unwritable(const std::string& option, const fs::path& file) {
  const int code = errno;
  throw io_error(code,
                 {.stage = option, .file = file.string(), .needed = "a file that can be written"});
}

fs::path parent_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path{"."};
}

/// The path that a link at `at` leads to.
fs::path end_of_link(const fs::path& at, const fs::path& target) {
  return target.is_absolute() ? target : parent_of(at) / target;
}

} // namespace

std::optional<int> own_descriptor(const fs::path& file) {
  auto at = file;
  std::error_code no_link;
  for (int links = 0; links <= max_links && !no_link; ++links) {
    if (const auto number = number_of_own(at.string()))
      return number;
    at = end_of_link(at, fs::read_symlink(at, no_link));
  }
  return std::nullopt;
}

output_place place_of_output(const fs::path& file, const std::string& option) {
  auto at = file;
  for (int links = 0; links <= max_links; ++links) {
    if (const auto number = number_of_own(at.string()))
      return {std::move(at), false, number};
    struct stat x {};
    if (::lstat(at.c_str(), &x) != 0) {
      if (errno == ENOENT)
        return {std::move(at)};
      throw_unwritable(option, at);
    }
    if (S_ISDIR(x.st_mode))
      throw_file_error(errc::invalid_argument, option, file.string(), "a directory", "a file");
    if (!S_ISLNK(x.st_mode))
      return {std::move(at), S_ISREG(x.st_mode)};
    std::error_code problem;
    const auto target = fs::read_symlink(at, problem);
    if (problem) // replaced since lstat
      throw_unwritable(option, at);
    at = end_of_link(at, target);
  }
  errno = ELOOP;
  throw_unwritable(option, file);
}

void check_output(const fs::path& file, const std::string& option) {
  const auto place = place_of_output(file, option);
  if (place.descriptor)
    return;
  // A file is replaced by renaming, which needs write access to its directory.
  const auto& needed = place.is_file ? parent_of(place.file) : place.file;
  if (::access(needed.c_str(), W_OK) != 0)
    throw_unwritable(option, file);
}

file_descriptor open_output(const output_place& x, int flags, const std::string& option) {
  if (x.descriptor == STDOUT_FILENO)
    std::fflush(stdout); // what was printed before comes first
  auto file = opened([&] {
    return x.descriptor ? ::fcntl(*x.descriptor, F_DUPFD_CLOEXEC, 3)
                        : ::open(x.file.c_str(), flags | O_CLOEXEC, 0666);
  });
  if (!file)
    throw_unwritable(option, x.file);
  return file;
}

} // namespace leat
