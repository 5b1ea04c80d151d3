#include "runtime/cluster/file_state_directory.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/open_directory.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr mode_t private_directory = 0700;
constexpr mode_t private_file = 0600;
constexpr mode_t mode_bits = 07777;
constexpr std::size_t largest_file = max_state_bytes + 8192;

std::string octal(mode_t mode) {
  std::string text;
  for (; mode != 0; mode >>= 3)
    text.insert(text.begin(), static_cast<char>('0' + (mode & 7)));
  return '0' + text;
}

/// Refuses too many writers: whoever may write to the directory may become the job's coordinator.
void check_writers(const fs::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0)
    throw_errno("cluster", directory.string(), "a state directory that can be read");
  const auto mode = octal(status.st_mode & mode_bits);
  if ((status.st_mode & S_IWOTH) != 0)
    throw_file_error(errc::invalid_argument, "cluster", directory.string(),
                     "a state directory that everybody may write to (mode " + mode + ")",
                     "one that is its user's own (chmod go-w), or the name of a new one: "
                     "whoever writes to it may become the job's coordinator");
  if ((status.st_mode & S_IWGRP) != 0)
    notice("cluster: all users of the group of " + directory.string() + " may write to it (mode "
           + mode + "), and so become the job's coordinator; chmod g-w if that is not meant");
}

} // namespace

file_state_directory::file_state_directory(fs::path directory) : directory_(std::move(directory)) {
  if (directory_.empty())
    refuse_argument("cluster", "no state directory", "a path");
  check_is_path(directory_.string(), "cluster");
}

void file_state_directory::prepare() {
  reserve_.begin();
  make_directory_durably(directory_, private_directory);
  check_writers(directory_);
}

/// Clients of NFS remember listings for up to a minute. A change to the directory by this client
/// makes them forget; even if the disk is full, the server was asked.
void file_state_directory::refresh() {
  const descriptor_reserve::use all{reserve_};
  const auto file = (directory_ / "look.tmp").string();
  const auto made = opened([&] {
    return ::open(file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  private_file);
  });
  if (made || errno == ELOOP) // a link is no more than an old file of that name
    remove_file(file);
  else if (errno != ENOENT && errno != ENOSPC && errno != EDQUOT)
    throw_errno("cluster", file, "a state directory that this process may write to");
}

std::vector<std::string> file_state_directory::list() {
  const descriptor_reserve::use all{reserve_};
  std::vector<std::string> names;
  std::error_code problem;
  auto entry = open_directory(directory_, problem);
  if (problem == std::errc::no_such_file_or_directory)
    return names;
  for (; !problem && entry != fs::directory_iterator{}; entry.increment(problem))
    names.push_back(entry->path().filename().string());
  if (problem)
    throw io_error(problem.value(), {.stage = "cluster",
                                     .file = directory_.string(),
                                     .needed = "a state directory that can be read"});
  return names;
}

bool file_state_directory::create(const std::string& file, const std::string& text) {
  const descriptor_reserve::use all{reserve_};
  return create_durably(directory_ / file, text, private_file);
}

void file_state_directory::replace(const std::string& file, const std::string& text) {
  const descriptor_reserve::use all{reserve_};
  write_durably(directory_ / file, text, private_file);
}

std::optional<std::string> file_state_directory::read(const std::string& file) {
  const descriptor_reserve::use all{reserve_};
  const auto path = directory_ / file;
  std::error_code unknown;
  const auto kind = fs::status(path, unknown).type();
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found
      && kind != fs::file_type::none)
    throw_file_error(errc::torn_file, "cluster", path.string(), "something other than a plain file",
                     "a file that leat wrote");
  try {
    return read_whole_file(path.string(), largest_file, "cluster");
  } catch (const error& problem) {
    if (problem.code() == errc::not_found)
      return std::nullopt;
    throw;
  }
}

void file_state_directory::remove(const std::string& file) {
  remove_file(directory_ / file);
}

} // namespace leat
