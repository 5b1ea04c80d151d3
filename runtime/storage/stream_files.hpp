#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/descriptor_budget.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/file_set.hpp"

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

/// How a file is compressed, by the ending of its name or pattern, in either case.
packing packing_of(std::string_view name) noexcept;

/// Files that are read sequentially: plain ones through few shared descriptors, pipes once.
/// Any thread.
class stream_files {
public:
  /// Throws `errc::not_found`, `errc::io`.
  explicit stream_files(file_set files, read_pattern pattern = read_pattern::normal);

  /// Identifies these files within the process, unlike their address, which may be reused. Not 0.
  std::uint64_t serial() const noexcept { return serial_; }
  std::size_t size() const noexcept { return facts_of_.size(); }
  std::string path(std::size_t file) const { return objects_->name(file); }
  /// The name that ids use: SHARD of docs/order.md.
  const std::string& name(std::size_t file) const { return names_[file]; }
  /// The size on opening; 0 for a pipe.
  std::uint64_t bytes(std::size_t file) const { return facts_of_[file].bytes; }
  /// By the ending of its name.
  packing packed(std::size_t file) const { return facts_of_[file].packed; }
  /// Whether this machine's page cache has most of what is read.
  bool are_near() const noexcept { return are_near_; }
  /// Whether it is anything but a stored file: it can be read only once, from its beginning.
  bool is_pipe(std::size_t file) const { return facts_of_[file].is_pipe; }

  /// Fills `into` with bytes of a plain file, as stored; returns their number, fewer only at the
  /// end. Throws `errc::io`; `errc::torn_file` if the file is shorter than on opening.
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
  /// Opens a pipe. Throws `errc::invalid_argument` if it was taken before and not given back.
  open_pipe take_pipe(std::size_t file) const;
  /// Gives back a pipe that is new, with all that was read from it: a job learns from the first
  /// samples what fields its batches have, and then begins with the same samples.
  void give_back_pipe(std::size_t file, open_pipe x) const noexcept;

  /// Paths that patterns match and that are not files.
  const passed_over& others() const noexcept { return others_; }
  /// Includes the data digest of docs/iterators.md.
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
  bool are_near_;
  std::shared_ptr<stored_objects> objects_;
  std::vector<file_facts> facts_of_;
  mutable mutex pipes_mutex_;
  /// The pipes that were taken; those that were given back are in it.
  mutable std::map<std::size_t, std::optional<open_pipe>> pipes_ LEAT_GUARDED_BY(pipes_mutex_);
};

} // namespace leat
