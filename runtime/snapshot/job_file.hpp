#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_names.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// The file of a whole job: a head, the parts of all ranks as `encode` gives them, one after the
// other in any order, then an index, which says where each rank's part lies (docs/snapshot.md). A
// job has at most `max_world_size` ranks, and a part at most `max_snapshot_bytes`.

/// Where a part lies in the file.
struct part_place {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  friend bool operator==(const part_place&, const part_place&) = default;
};

/// The bytes before the parts.
std::string job_file_head(const set_name& x);
/// The bytes after the parts: the index, in the order of the ranks, its length, and a checksum of
/// all that is not a part.
std::string job_file_tail(const set_name& x, const std::vector<part_place>& parts);

/// Reads the file of a whole job. Believes nothing: whatever does not fit is
/// `errc::bad_snapshot` with the file. Reading it from several threads is safe.
class job_file_reader {
public:
  /// Reads and checks all but the parts: their places do not overlap and leave no gap. Memory is 16
  /// bytes per rank. Throws `errc::bad_snapshot`, and `errc::not_found` and `errc::io` as files do.
  explicit job_file_reader(std::string path);

  /// Opens the file of a set in a directory; its content must be that set.
  job_file_reader(const std::filesystem::path& directory, const set_name& set);

  const set_name& name() const noexcept { return name_; }
  std::uint64_t world_size() const noexcept { return name_.world_size; }
  job_position position() const noexcept { return {name_.epoch, name_.step}; }
  /// Bytes of the largest part.
  std::uint64_t largest_part() const noexcept;

  /// The bytes of one rank's part, as it was added; `rank` is below the world size. Checked as
  /// `part` does.
  std::string part_bytes(std::uint64_t rank) const;
  /// One rank's part, decoded; checks that it is that rank's part of this set.
  snapshot part(std::uint64_t rank) const;
  /// The parts of all ranks. Whether they belong together, `merge` says.
  std::vector<snapshot> parts() const;
  /// Reads all parts, one at a time, and checks that they belong together.
  void check_parts() const;

private:
  std::string read(std::uint64_t offset, std::size_t length) const;
  void read_index(std::uint64_t size);
  snapshot decoded(std::uint64_t rank, std::string_view bytes) const;

  std::string path_;
  file_descriptor file_;
  set_name name_;
  std::vector<part_place> parts_;
};

enum class snapshot_file : std::uint8_t { other, part, job };

/// What a plain file says that it is: by its name, if that is the one of a whole job's file, and
/// otherwise by its first bytes. Anything else than a plain file is `other`. Throws
/// `errc::not_found` and `errc::io`.
snapshot_file snapshot_file_at(const std::string& path);

} // namespace leat
