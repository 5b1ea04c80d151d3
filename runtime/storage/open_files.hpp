#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/descriptor_budget.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/object_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// Reads from many files through few descriptors, which all objects of a budget share: files are
/// opened on first use and closed to make room for others. A file that is reopened must be the one
/// that was opened first, unchanged; otherwise `errc::io`. Any thread may read at any time.
class open_files final : public near_objects {
public:
  explicit open_files(std::vector<std::string> paths,
                      descriptor_budget& budget = process_descriptors());
  ~open_files() override;

  std::string name(std::size_t file) const override { return paths_[file]; }
  object_version stat(std::size_t file) override;
  std::uint64_t read_parts(std::span<const read_part> parts) override;

  /// The right to read from one file, which stays open as long as this lives. One per thread at a
  /// time.
  class lease {
  public:
    /// Throws as `throw_errno`, and if another file has its name now.
    lease(open_files& from, std::size_t file);

    const file_descriptor& descriptor() const noexcept { return right_.descriptor(); }

  private:
    descriptor_budget::reading right_;
  };

private:
  void open(std::size_t file, descriptor_budget::reading& right);
  void check_first(std::size_t file, const file_descriptor& descriptor, const object_version& now);

  const std::vector<std::string> paths_;
  descriptor_budget& budget_;
  std::vector<kept_file> files_;
  mutex mutex_;
  /// The version of each file when it was first opened.
  std::vector<std::optional<object_version>> first_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
