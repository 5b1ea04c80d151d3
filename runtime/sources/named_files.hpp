#pragma once

#include "runtime/base/recent_values.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/sample/stream_source.hpp"
#include "runtime/storage/file_set.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace leat {

/// Files that are named while a job runs, each read as a stream of one unit. Keeps only a few of
/// them open, however many lanes read at the same time. Any thread.
class named_files {
public:
  using stream_opener_function = std::function<std::shared_ptr<const stream_source>(file_set)>;

  /// Names that do not begin with "/", and are no addresses, are relative to `folder`, which may be
  /// an address; if it is empty, to the process's working directory. `in` may be null: the
  /// process's stores.
  named_files(std::string folder, stream_opener_function open,
              const std::shared_ptr<const store_set>& in = {})
      : folder_(std::move(folder)), open_(std::move(open)), stores_(in ? in : process_stores()) {}

  /// The file as a stream; its records' ids begin with the name as given here. Throws
  /// `errc::not_found`, `errc::io`; `errc::invalid_argument` for a file that can only be read once.
  std::shared_ptr<const stream_source> get(const std::string& name) const;

  /// A file that is being read, and its reader.
  struct reading {
    std::shared_ptr<const stream_source> file;
    std::unique_ptr<unit_reader> reader;
  };
  std::uint64_t new_reader_id() const;
  /// Continues with the parked reader of this id, or opens the file again at `at`. `ahead`, which
  /// may be null, outlives what is parked: see `stream_source::open`.
  reading take(std::uint64_t id, const std::string& name, const stream_place& at,
               ahead_threads* ahead) const;
  void park(std::uint64_t id, reading x) const;
  void drop(std::uint64_t id) const;

private:
  static constexpr std::size_t max_open = 128;

  std::string path_of(const std::string& name) const;
  file_set files_of(const std::string& name) const;

  std::string folder_;
  stream_opener_function open_;
  std::shared_ptr<const store_set> stores_;
  mutable mutex mutex_;
  mutable recent_values<std::string, std::shared_ptr<const stream_source>>
      files_ LEAT_GUARDED_BY(mutex_){max_open};
  mutable recent_values<std::uint64_t, reading> readers_ LEAT_GUARDED_BY(mutex_){max_open};
  mutable std::uint64_t last_id_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
