#include "runtime/storage/open_files.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <utility>

namespace leat {

namespace {

/// File systems in user space (FUSE) may give a file another inode number once nobody has it open.
bool keeps_numbers(const file_descriptor& file) {
  struct statfs x {};
  return ::fstatfs(file.get(), &x) != 0 || x.f_type != FUSE_SUPER_MAGIC;
}

} // namespace

open_files::open_files(std::vector<std::string> paths, descriptor_budget& budget)
    : paths_(std::move(paths)), budget_(budget), files_(paths_.size()), first_(paths_.size()) {}

open_files::~open_files() {
  for (auto& x : files_)
    budget_.close(x);
}

open_files::lease::lease(open_files& from, std::size_t file)
    : right_(from.budget_, from.files_[file]) {
  if (!right_.is_open())
    from.open(file, right_);
}

object_version open_files::stat(std::size_t file) {
  const lease right{*this, file};
  return version_of(right.descriptor(), paths_[file]);
}

std::uint64_t open_files::read_parts(std::span<const read_part> parts) {
  std::uint64_t done = 0;
  for (const auto& x : parts) {
    const lease right{*this, x.object};
    const auto n = read_at(right.descriptor(), paths_[x.object], x.offset, x.into);
    done += n;
    if (n < x.into.size())
      break;
  }
  return done;
}

/// Holds no lock: on a network file system this takes a while.
void open_files::open(std::size_t file, descriptor_budget::reading& right) {
  const descriptor_budget::place room{budget_};
  object_version now;
  auto descriptor = file_descriptor::open(paths_[file], &now);
  check_first(file, descriptor, now);
  right.keep(std::move(descriptor));
}

void open_files::check_first(std::size_t file, const file_descriptor& descriptor,
                             const object_version& now) {
  {
    const mutex_lock lock{mutex_};
    auto& first = first_[file];
    if (!first)
      first = now;
    if (now.size == first->size && now.mtime_ns == first->mtime_ns
        && (now.tag == first->tag || !keeps_numbers(descriptor)))
      return;
  }
  throw_file_error(errc::io, "open", paths_[file],
                   "another file of that name, or one that was written to since it "
                   "was opened first",
                   "the same file, unchanged, as long as the job runs");
}

} // namespace leat
