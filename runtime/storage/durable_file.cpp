#include "runtime/storage/durable_file.hpp"

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/error.hpp>
#include <leat/hash128.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_io(const fs::path& file, const std::string& action, int code = errno) {
  throw io_error(code, {.stage = action, .file = file.string()});
}

/// Creates a new file, so that no link diverts what is written. Returns no descriptor if something
/// has that name.
file_descriptor make_file(const fs::path& path, const fs::path& file, mode_t mode) {
  auto descriptor =
      opened([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
  if (!descriptor && errno != EEXIST)
    throw_io(file, "open");
  return descriptor;
}

/// Creates a new file in place of what a dead process left there, or of a link that somebody put
/// there.
file_descriptor make_file_anew(const fs::path& file, mode_t mode) {
  auto made = make_file(file, file, mode);
  if (!made) {
    remove_file(file);
    made = make_file(file, file, mode);
  }
  if (!made)
    throw_io(file, "open", EEXIST);
  return made;
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
  const auto descriptor =
      opened([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!descriptor)
    throw_io(directory, "open");
  sync(descriptor, directory);
}

/// A name beside `file` that nothing in this process has used.
fs::path name_beside(const fs::path& file) {
  static std::atomic<std::uint64_t> number{0};
  return file.string() + '.' + std::to_string(::getpid()) + '.'
         + std::to_string(number.fetch_add(1)) + std::string{temporary_suffix};
}

/// 128 random bits. Process ids would not do: they are the same in all containers.
std::string unique_text() {
  hash128 bits;
  if (uninterrupted([&] { return ::getrandom(&bits, sizeof bits, 0); }) != sizeof bits)
    throw_io("random bits", "getrandom");
  return to_string(bits);
}

/// A file that is removed again unless it gets its final name.
class temporary_file : not_copied {
public:
  temporary_file(fs::path path, mode_t mode)
      : path_(std::move(path)), descriptor_(make_file_anew(path_, mode)) {}
  /// A temporary file whose name no other writer on any machine uses.
  static temporary_file apart(const fs::path& file, mode_t mode) {
    return temporary_file{temporary_name(file), mode};
  }
  ~temporary_file() {
    if (!renamed_)
      ::unlink(path_.c_str());
  }

  /// Takes over the mode of `file` if that exists.
  void take_mode_of(const fs::path& file) {
    struct stat old {};
    if (::stat(file.c_str(), &old) == 0) {
      // If the file belongs to another owner, not all of its mode can be kept.
      [[maybe_unused]] const int ignored = ::fchmod(descriptor_.get(), old.st_mode & 07777);
    }
  }

  void fill(std::string_view bytes) {
    write_all(descriptor_, path_, bytes);
    sync(descriptor_, path_);
  }

  /// Returns false if there is a file of that name.
  bool link_to(const fs::path& file) {
    if (::link(path_.c_str(), file.c_str()) == 0)
      return true;
    const int code = errno;
    struct stat own {};
    const auto names = ::fstat(descriptor_.get(), &own) == 0 ? own.st_nlink : 1;
    // Somebody removed it as a leftover of an attempt long ago.
    const bool is_removed = code == ENOENT && names == 0;
    if (code != EEXIST && !is_removed)
      throw_io(file, "link", code);
    // A file server may have made the link and lost its answer: the retry then finds that link.
    return names == 2;
  }

  void rename_to(const fs::path& file) {
    if (::rename(path_.c_str(), file.c_str()) != 0)
      throw_io(file, "rename");
    renamed_ = true;
  }

private:
  fs::path path_;
  file_descriptor descriptor_;
  bool renamed_ = false;
};

} // namespace

fs::path temporary_name(const fs::path& file) {
  return file.string() + '.' + unique_text() + std::string{temporary_suffix};
}

void write_durably(const fs::path& file, std::string_view bytes, mode_t mode) {
  temporary_file temporary{file.string() + std::string{temporary_suffix}, mode};
  temporary.fill(bytes);
  temporary.rename_to(file);
  sync_directory(directory_of(file));
}

bool create_durably(const fs::path& file, std::string_view bytes, mode_t mode) {
  auto temporary = temporary_file::apart(file, mode);
  temporary.fill(bytes);
  if (!temporary.link_to(file))
    return false;
  sync_directory(directory_of(file));
  return true;
}

void write_output(const fs::path& file, std::string_view bytes, const std::string& option) {
  const auto place = place_of_output(file, option);
  if (!place.is_file)
    return write_all(open_output(place, O_WRONLY, option), file, bytes);
  try {
    auto temporary = temporary_file::apart(place.file, 0666);
    temporary.take_mode_of(place.file);
    temporary.fill(bytes);
    temporary.rename_to(place.file);
    sync_directory(directory_of(place.file));
  } catch (const error& problem) {
    // The user knows the output, not the temporary file next to it.
    auto details = problem.details();
    details.file = file.string();
    throw error(problem.code(), std::move(details));
  }
}

namespace {

/// Files that this process is writing, by device and inode: a directory may have several names.
class files_in_writing {
public:
  using key = std::pair<dev_t, ino_t>;

  /// Creates a file at `path` and records it in one step, so that remove_others never sees one
  /// without the other. Returns no descriptor if the file exists already.
  file_descriptor make(const fs::path& path, const fs::path& file, key& made) {
    const mutex_lock lock{mutex_};
    file_descriptor descriptor = make_file(path, file, 0644);
    if (!descriptor)
      return {};
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0)
      throw_io(file, "open");
    made = {status.st_dev, status.st_ino};
    all_.insert(made);
    return descriptor;
  }

  void forget(const key& x) {
    const mutex_lock lock{mutex_};
    all_.erase(x);
  }

  void remove_others(const fs::path& temporary) {
    const mutex_lock lock{mutex_};
    struct stat status {};
    const bool is_there = ::lstat(temporary.c_str(), &status) == 0;
    if (is_there && !all_.contains({status.st_dev, status.st_ino}))
      remove_file(temporary);
  }

private:
  mutex mutex_;
  std::set<key> all_ LEAT_GUARDED_BY(mutex_);
};

/// Never destroyed: threads may still write while the process ends.
files_in_writing& in_writing() {
  static auto* const all = new files_in_writing;
  return *all;
}

} // namespace

class durable_file::content {
public:
  explicit content(fs::path file) : file_(std::move(file)) {
    while (!descriptor_) { // a dead process may have had this one's process id
      path_ = name_beside(file_);
      descriptor_ = in_writing().make(path_, file_, key_);
    }
  }
  content(const content&) = delete;
  content& operator=(const content&) = delete;
  ~content() {
    if (!renamed_)
      ::unlink(path_.c_str());
    in_writing().forget(key_);
  }

  void append(std::string_view bytes) { write_all(descriptor_, file_, bytes); }

  void commit() {
    sync(descriptor_, file_);
    if (::rename(path_.c_str(), file_.c_str()) != 0)
      throw_io(file_, "rename");
    renamed_ = true;
    sync_directory(directory_of(file_));
  }

private:
  fs::path file_;
  fs::path path_;
  files_in_writing::key key_;
  file_descriptor descriptor_;
  bool renamed_ = false;
};

durable_file::durable_file(fs::path file) : content_(std::make_unique<content>(std::move(file))) {}
durable_file::~durable_file() = default;
durable_file::durable_file(durable_file&&) noexcept = default;
durable_file& durable_file::operator=(durable_file&&) noexcept = default;

void durable_file::append(std::string_view bytes) {
  content_->append(bytes);
}

void durable_file::commit() {
  content_->commit();
}

void remove_leftover(const fs::path& temporary) {
  in_writing().remove_others(temporary);
}

void make_directory_durably(const fs::path& directory, mode_t mode) {
  std::error_code unknown;
  if (fs::is_directory(directory, unknown))
    return;
  const auto parent = directory_of(directory);
  if (parent != directory)
    make_directory_durably(parent);
  if (::mkdir(directory.c_str(), mode) != 0) {
    const int code = errno;
    if (code != EEXIST || !fs::is_directory(directory, unknown))
      throw_io(directory, "make directory", code == EEXIST ? ENOTDIR : code);
    return; // another process created it
  }
  sync_directory(parent);
}

void remove_file(const fs::path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    throw_io(file, "remove");
}

} // namespace leat
