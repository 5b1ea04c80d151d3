#include "runtime/sources/named_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

namespace leat {

namespace {

void check_plain(const std::string& path) {
  struct stat x {};
  if (::stat(path.c_str(), &x) != 0)
    throw_errno("read_files", path, "a readable file");
  if (!S_ISREG(x.st_mode))
    throw_file_error(errc::invalid_argument, "read_files", path, "a pipe, a device or a folder",
                     "a plain file");
}

} // namespace

std::string named_files::path_of(const std::string& name) const {
  if (name.starts_with('/') || !stores_->of(name).is_near())
    return name;
  return stores_->of(folder_).is_near() ? (std::filesystem::path{folder_} / name).string()
                                        : folder_ + '/' + name;
}

file_set named_files::files_of(const std::string& name) const {
  const auto path = path_of(name);
  const auto& store = stores_->of(path);
  if (store.is_near())
    check_plain(path);
  return {.paths = {store.full_name(path)}, .names = {name}, .others = {}, .store = &store};
}

std::shared_ptr<const stream_source> named_files::get(const std::string& name) const {
  {
    mutex_lock lock{mutex_};
    if (auto known = files_.take(name)) {
      files_.put(name, *known);
      return std::move(*known);
    }
  }
  auto file = open_(files_of(name));
  mutex_lock lock{mutex_};
  files_.put(name, file);
  return file;
}

std::uint64_t named_files::new_reader_id() const {
  mutex_lock lock{mutex_};
  return ++last_id_;
}

named_files::reading named_files::take(std::uint64_t id, const std::string& name,
                                       const stream_place& at, ahead_threads* ahead) const {
  {
    mutex_lock lock{mutex_};
    if (auto parked = readers_.take(id))
      return std::move(*parked);
  }
  auto file = get(name);
  auto reader = file->open(0, at, {.ahead = ahead});
  return {.file = std::move(file), .reader = std::move(reader)};
}

void named_files::park(std::uint64_t id, reading x) const {
  mutex_lock lock{mutex_};
  readers_.put(id, std::move(x));
}

void named_files::drop(std::uint64_t id) const {
  mutex_lock lock{mutex_};
  readers_.take(id);
}

} // namespace leat
