#include "runtime/storage/durable_file.hpp"

#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/open_files.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_io(const fs::path& file, const std::string& action, int code = errno) {
  throw error(
      errc::io,
      {.stage = action, .file = file.string(), .got = std::generic_category().message(code)});
}

file_descriptor open_file(const fs::path& file, int flags, mode_t mode = 0644) {
  file_descriptor descriptor{
      uninterrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); })};
  if (!descriptor)
    throw_io(file, "open");
  return descriptor;
}

void write_all(const file_descriptor& to, const fs::path& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(to.get(), bytes.data(), bytes.size());
    if (n > 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      throw_io(file, "write");
  }
}

void sync(const file_descriptor& descriptor, const fs::path& file) {
  if (uninterrupted([&] { return ::fsync(descriptor.get()); }) != 0)
    throw_io(file, "fsync");
}

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path{"."};
}

void sync_directory(const fs::path& directory) {
  sync(open_file(directory, O_RDONLY | O_DIRECTORY), directory);
}

/// A file that goes again unless it gets its final name.
class temporary_file {
public:
  explicit temporary_file(fs::path path)
      : path_(std::move(path)), descriptor_(open_file(path_, O_WRONLY | O_CREAT | O_TRUNC)) {}
  /// One that no other writer of `file` has; with its mode where it is there.
  static temporary_file beside(const fs::path& file) {
    static std::atomic<std::uint64_t> number{0};
    return temporary_file{file, file.string() + '.' + std::to_string(::getpid()) + '.'
                                    + std::to_string(number.fetch_add(1))
                                    + std::string{temporary_suffix}};
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    if (!renamed_)
      ::unlink(path_.c_str());
  }

  void fill(std::string_view bytes) {
    write_all(descriptor_, path_, bytes);
    sync(descriptor_, path_);
  }

  void rename_to(const fs::path& file) {
    if (::rename(path_.c_str(), file.c_str()) != 0)
      throw_io(file, "rename");
    renamed_ = true;
  }

private:
  temporary_file(const fs::path& file, fs::path path)
      : path_(std::move(path)), descriptor_(open_file(path_, O_WRONLY | O_CREAT | O_EXCL, 0666)) {
    struct stat old {};
    if (::stat(file.c_str(), &old) == 0) {
      // If the file belongs to another owner, not all of its mode can be kept.
      [[maybe_unused]] const int ignored = ::fchmod(descriptor_.get(), old.st_mode & 07777);
    }
  }

  fs::path path_;
  file_descriptor descriptor_;
  bool renamed_ = false;
};

} // namespace

void write_durably(const fs::path& file, std::string_view bytes) {
  temporary_file temporary{file.string() + std::string{temporary_suffix}};
  temporary.fill(bytes);
  temporary.rename_to(file);
  sync_directory(directory_of(file));
}

void write_output(const fs::path& file, std::string_view bytes, const std::string& option) {
  const auto place = place_of_output(file, option);
  if (!place.is_file)
    return write_all(open_output(place, O_WRONLY, option), file, bytes);
  try {
    auto temporary = temporary_file::beside(place.file);
    temporary.fill(bytes);
    temporary.rename_to(place.file);
    sync_directory(directory_of(place.file));
  } catch (const error& problem) {
    // The user knows the output, not the file beside it.
    auto details = problem.details();
    details.file = file.string();
    throw error(problem.code(), std::move(details));
  }
}

void make_directory_durably(const fs::path& directory) {
  std::error_code unknown;
  if (fs::is_directory(directory, unknown))
    return;
  const auto parent = directory_of(directory);
  if (parent != directory)
    make_directory_durably(parent);
  if (::mkdir(directory.c_str(), 0755) != 0) {
    const int code = errno;
    if (code != EEXIST || !fs::is_directory(directory, unknown))
      throw_io(directory, "make directory", code == EEXIST ? ENOTDIR : code);
    return; // another process made it
  }
  sync_directory(parent);
}

void remove_file(const fs::path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    throw_io(file, "remove");
}

} // namespace leat
