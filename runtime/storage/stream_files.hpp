#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/descriptor_budget.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/file_set.hpp"
#include "runtime/storage/local_store.hpp"

#include <leat/source_facts.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

enum class packing : std::uint8_t { none, gzip, zstd };

/// By the ending of a name, or of a pattern; its letters may be of either case.
packing packing_of(std::string_view name) noexcept;

/// Files that are read in sequence: plain ones through few shared descriptors, pipes once.
/// Any thread.
class stream_files {
public:
  /// Throws `errc::not_found`, `errc::io`.
  explicit stream_files(file_set files, const object_store& store = local_store());

  /// Tells these files from all others of the process, also from those of an object that was at
  /// the same address before. Not 0.
  std::uint64_t serial() const noexcept { return serial_; }
  std::size_t size() const noexcept { return facts_of_.size(); }
  std::string path(std::size_t file) const { return objects_->name(file); }
  /// The name that ids use: SHARD of docs/order.md.
  const std::string& name(std::size_t file) const { return names_[file]; }
  /// As on opening; 0 for a pipe.
  std::uint64_t bytes(std::size_t file) const { return facts_of_[file].bytes; }
  /// By the ending of its name.
  packing packed(std::size_t file) const { return facts_of_[file].packed; }
  /// Anything that is not stored: it cannot be read at a place, nor twice.
  bool is_pipe(std::size_t file) const { return facts_of_[file].is_pipe; }

  /// Fills `into` with bytes of a plain file, as stored; returns their number, fewer only at the
  /// end. Throws `errc::io`; `errc::torn_file` where the file is shorter than on opening.
  std::size_t read(std::size_t file, std::uint64_t offset, std::span<std::byte> into,
                   const std::stop_token& stop = {}) const;
  /// The files, by the same numbers.
  stored_objects& objects() const noexcept { return *objects_; }
  struct open_pipe {
    descriptor_budget::place place = {};
    file_descriptor descriptor = {};
    /// Bytes that were read before, which come first.
    std::vector<std::byte> before = {};
    /// It may be given back.
    bool is_new = false;
  };
  /// Opens a pipe. Throws `errc::invalid_argument` if it was taken before, and not given back.
  open_pipe take_pipe(std::size_t file) const;
  /// Gives a pipe back that is new, with all that was read of it: a job learns what fields its
  /// batches have from the first samples, and then begins with these.
  void give_back_pipe(std::size_t file, open_pipe x) const noexcept;

  /// What patterns match that is no file.
  const passed_over& others() const noexcept { return others_; }
  /// With the data digest of docs/iterators.md.
  source_facts facts() const;

private:
  struct file_facts {
    std::uint64_t bytes;
    bool is_pipe;
    packing packed;
  };

  static file_facts look_at(const std::string& path, const object_store& store);

  std::uint64_t serial_;
  std::vector<std::string> names_;
  passed_over others_;
  std::shared_ptr<stored_objects> objects_;
  std::vector<file_facts> facts_of_;
  mutable mutex pipes_mutex_;
  /// Those that were taken; with a pipe if it was given back.
  mutable std::map<std::size_t, std::optional<open_pipe>> pipes_ LEAT_GUARDED_BY(pipes_mutex_);
};

} // namespace leat
