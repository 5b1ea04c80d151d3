#include "runtime/storage/local_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/mapped_files.hpp"
#include "runtime/storage/open_directory.hpp"
#include "runtime/storage/open_files.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace leat {

namespace {

namespace fs = std::filesystem;

object_stat stat_of_file(const std::string& path) {
  struct stat x {};
  if (::stat(path.c_str(), &x) != 0) {
    if (errno == ELOOP) // a circle of links leads to nothing: "not found"
      errno = ENOENT;
    throw_errno("open", path, "a file whose size and time can be read");
  }
  return {S_ISREG(x.st_mode)   ? object_kind::plain
          : S_ISDIR(x.st_mode) ? object_kind::folder
                               : object_kind::other,
          version_of(x)};
}

/// The kind as the directory itself records it, without another system call.
object_kind kind_of_entry(const fs::directory_entry& x) {
  std::error_code gone;
  if (x.is_symlink(gone))
    return object_kind::link;
  if (x.is_directory(gone))
    return object_kind::folder;
  return x.is_regular_file(gone) ? object_kind::plain : object_kind::other;
}

/// Files that are opened anew for each read.
class passing_files final : public near_objects {
public:
  passing_files(std::shared_ptr<const object_names> names, std::string stage)
      : names_(std::move(names)), stage_(std::move(stage)) {}

  std::string name(std::size_t object) const override { return names_->name(object); }
  object_version stat(std::size_t object) override {
    return stat_of_file(names_->name(object)).version;
  }
  std::uint64_t read_parts(std::span<const read_part> parts) override {
    std::uint64_t done = 0;
    std::string path;
    file_descriptor file;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& x = parts[i];
      if (i == 0 || x.object != parts[i - 1].object) {
        path = names_->name(x.object);
        file = open(x.object, path);
      }
      const auto n = read_at(file, path, x.offset, x.into);
      done += n;
      if (n < x.into.size())
        break;
    }
    return done;
  }

private:
  file_descriptor open(std::size_t object, const std::string& path) const {
    object_version now;
    auto file = file_descriptor::open(path, &now);
    const auto size = names_->bytes(object);
    if (now.size != size)
      throw_file_error(errc::torn_file, stage_, path, std::to_string(now.size) + " bytes",
                       std::to_string(size) + ", as on opening");
    return file;
  }

  std::shared_ptr<const object_names> names_;
  std::string stage_;
};

class file_system final : public object_store {
public:
  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    std::error_code problem;
    auto entry = open_directory(folder, problem);
    for (; !problem && entry != fs::directory_iterator{}; entry.increment(problem))
      each({.name = entry->path().filename().string(), .is = kind_of_entry(*entry)});
    if (!problem)
      return;
    errno = problem.value();
    throw_errno("list", folder, "a readable directory");
  }

  object_stat stat(const std::string& name) const override { return stat_of_file(name); }

  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern pattern) const override {
    if (pattern != read_pattern::normal)
      return map_files(names, pattern);
    return std::make_shared<open_files>(std::move(names));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return std::make_shared<passing_files>(std::move(names), std::move(stage));
  }
  void put(const std::string& name, std::span<const std::byte> bytes) const override {
    if (!scheme_of(name).empty()) // of no server that leat knows
      return object_store::put(name, bytes);
    if (const auto folder = fs::path{name}.parent_path(); !folder.empty())
      make_directory_durably(folder);
    durable_file file{name};
    file.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    file.commit();
  }
  bool can_put() const noexcept override { return true; }
  bool is_near() const noexcept override { return true; }
};

} // namespace

const object_store& local_store() {
  static const file_system only;
  return only;
}

} // namespace leat
