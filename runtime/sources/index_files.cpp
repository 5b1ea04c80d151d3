#include "runtime/sources/index_files.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/open_files.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

std::string cache_dir() {
  auto from = [](const char* variable) {
    const char* value = std::getenv(variable);
    // The XDG specification says to ignore relative paths.
    return std::string{value && *value == '/' ? value : ""};
  };
  if (auto dir = from("XDG_CACHE_HOME"); !dir.empty())
    return dir + "/leat";
  auto home = from("HOME");
  return home.empty() ? home : home + "/.cache/leat";
}

bool is_on_this_machine(const std::string& data) {
  return store_of(data).is_near();
}

std::string path_in(const std::string& dir, const std::string& data) {
  return dir + "/" + index_file_name(data);
}

bool is_directory_here(const std::string& index_dir) {
  return !index_dir.empty() && scheme_of(index_dir).empty()
         && !index_dir.ends_with(manifest_suffix);
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR)
      return false;
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return true;
}

/// An index can be done without, so that a place that does not take it is no error; a limit of this
/// process is one that its user can raise. Told once, as there may be thousands of indexes.
void tell_not_stored(const std::string& path, int code) {
  static std::atomic<bool> is_told{false};
  if (code == EFBIG && !is_told.exchange(true))
    notice("index: " + path + " was not stored: " + system_words(code)
           + "; without it the data is read through at each start");
}

/// Puts an index in its place at once, so that no reader ever sees half of it; false if the
/// directory or the disk does not accept it.
bool store(const std::string& path, std::span<const std::byte> bytes) try {
  auto dir = fs::path{path}.parent_path();
  std::error_code ignored;
  fs::create_directories(dir, ignored);
  const auto temporary = temporary_name(dir / ".leat-index");
  // Other users may read the index of shared data, unless the umask says otherwise.
  const auto file = opened(
      [&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); });
  if (!file)
    return false;
  const bool done = write_all(file.get(), bytes) && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) {
    tell_not_stored(path, errno);
    ::unlink(temporary.c_str());
  }
  return done;
} catch (const error&) { // no random bits for a name
  return false;
}

} // namespace

std::string index_file_name(const std::string& data) {
  const auto whole =
      is_on_this_machine(data) ? fs::absolute(data).lexically_normal().string() : data;
  return to_string(xxh3_128(std::as_bytes(std::span{whole}))) + std::string{index_suffix};
}

std::vector<std::string> index_paths(const std::string& data, const std::string& index_dir) {
  if (is_directory_here(index_dir))
    return {path_in(index_dir, data)};
  std::vector<std::string> paths;
  if (is_on_this_machine(data))
    paths.push_back(data + std::string{index_suffix});
  if (auto dir = cache_dir(); !dir.empty())
    paths.push_back(path_in(dir, data));
  return paths;
}

// Not mapped: a process that reads from a mapped file which was truncated dies of SIGBUS.
std::optional<index_bytes> read_index(const std::string& path, std::size_t header_bytes,
                                      held_bytes held) try {
  object_version found;
  const auto file = file_descriptor::open(path, &found);
  const auto all = found.size;
  std::vector<std::byte> header(header_bytes);
  if (read_at(file, path, 0, header) < header_bytes)
    return {};
  const auto size = held(header, all);
  if (size == 0 || size > all)
    return {};
  // Not zeroed first.
  std::shared_ptr<std::byte> bytes{static_cast<std::byte*>(::operator new(size)),
                                   [](std::byte* x) { ::operator delete(x); }};
  read_fully(file, path, 0, {bytes.get(), static_cast<std::size_t>(size)});
  return index_bytes{std::move(bytes), static_cast<std::size_t>(size), path, all};
} catch (const error&) {
  return {};
}

index_tail::index_tail(const index_bytes& of, std::uint64_t begin, std::uint64_t size)
    : held_(of.path.empty() ? of.data.get() + begin : nullptr), path_(of.path), begin_(begin),
      size_(size) {}

bool index_tail::read(std::uint64_t at, std::span<std::byte> into) const {
  if (at > size_ || into.size() > size_ - at)
    return false;
  if (held_) {
    std::copy_n(held_ + at, into.size(), into.begin());
    return true;
  }
  try {
    return read_at(file_descriptor::open(path_), path_, begin_ + at, into) == into.size();
  } catch (const error&) {
    return false;
  }
}

bool remove_indexes(const std::vector<std::string>& paths) noexcept {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR;
  });
}

bool store_index(const std::vector<std::string>& paths, std::span<const std::byte> bytes) {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return store(path, bytes); });
}

} // namespace leat
