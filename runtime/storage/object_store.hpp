#pragma once

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

/// What tells one version of a stored object (a file) from another.
struct object_version {
  std::uint64_t size = 0;
  /// When it was last written.
  std::int64_t mtime_ns = 0;
  /// What the store has besides: the inode of a file; of a remote object its version id or ETag.
  std::string tag = {};

  friend bool operator==(const object_version&, const object_version&) = default;
};

/// What lies at a name.
enum class object_kind : std::uint8_t {
  /// Any part of it can be read, and read again.
  plain,
  folder,
  /// What it leads to, `stat` tells.
  link,
  /// A pipe, a device.
  other,
};

struct object_stat {
  /// No link: where it leads to.
  object_kind is = object_kind::plain;
  object_version version = {};
};

/// An entry of a folder.
struct listed_object {
  /// Below the folder; without '/'.
  std::string name;
  object_kind is = object_kind::plain;
  /// Where listing tells it without a further request.
  std::optional<object_version> version = {};
};

/// Some bytes of an object, and where they go.
struct read_part {
  /// Its number among those that were opened together.
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::span<std::byte> into = {};
};

/// How a read ended.
struct read_result {
  /// Bytes that are there, from the beginning of the first part on, one part after the other.
  std::uint64_t bytes = 0;
  /// What happened, with the object's name, and the offset where there is one; null where nothing
  /// did. A pointer, so that results without a failure stay small.
  std::shared_ptr<const error> failure = {};
};

/// Called once for each read, from any thread. Must not block.
using read_done = std::function<void(read_result)>;

/// Objects of a store that a source reads, by number. All members are called by many threads at
/// once.
class stored_objects {
public:
  stored_objects() = default;
  /// Reads that are under way have ended.
  virtual ~stored_objects() = default;
  stored_objects(const stored_objects&) = delete;
  stored_objects& operator=(const stored_objects&) = delete;

  virtual std::string name(std::size_t object) const = 0;

  /// The version that `read` reads. Blocks. Throws `leat::error` (not_found, io, no_resources).
  virtual object_version stat(std::size_t object) = 0;

  /// Reads these parts, in one request where the store can. A read ends like pread(2): it may give
  /// fewer bytes than it was asked for, but one at least, unless the object of the first part has
  /// none there (`read_now` asks for the rest).
  ///
  /// `done` is called before this returns where the bytes can be had at once: local files are read
  /// in the caller's thread. Otherwise this returns at once and `done` comes later; a store has a
  /// limited number of reads under way, and the others wait in it. The memory of the parts is the
  /// store's until then; `parts` itself is not used after the return.
  ///
  /// Once `stop` is requested, `done` comes soon, with a failure unless all is there by then.
  /// Failures are values; throws only where the process lacks memory, and `done` is not called
  /// then.
  virtual void read(std::span<const read_part> parts, read_done done,
                    const std::stop_token& stop) = 0;

  /// The same, and waits for it. A store that reads in the caller's thread does so here without
  /// what waiting takes.
  virtual read_result read_here(std::span<const read_part> parts, const std::stop_token& stop);
};

/// Names of more objects than one wants to hold in memory.
class object_names {
public:
  object_names() = default;
  virtual ~object_names() = default;
  object_names(const object_names&) = delete;
  object_names& operator=(const object_names&) = delete;

  virtual std::string name(std::size_t object) const = 0;
  /// Bytes that it had when it was listed.
  virtual std::uint64_t bytes(std::size_t object) const = 0;
};

/// Where data lie: a file system; later, buckets and servers. All members are called by many
/// threads at once, and block, but the reads of what they open.
class object_store {
public:
  object_store() = default;
  virtual ~object_store() = default;
  object_store(const object_store&) = delete;
  object_store& operator=(const object_store&) = delete;

  /// Calls `each` for what lies in a folder; not for what lies in the folders in there. In any
  /// order. Throws `errc::not_found`, `errc::io`; the error names what could not be read.
  virtual void list(const std::string& folder,
                    const std::function<void(listed_object)>& each) const = 0;

  /// Throws `errc::not_found`, also for a link that leads nowhere or in a circle; `errc::io`,
  /// `errc::no_resources`.
  virtual object_stat stat(const std::string& name) const = 0;

  /// A few objects, each read many times: of files some descriptors stay open. Nothing is asked of
  /// the store yet.
  virtual std::shared_ptr<stored_objects> open(std::vector<std::string> names) const = 0;
  /// Many objects, each read now and then, as a whole: of files none stays open. An object that has
  /// another size than it was listed with is `errc::torn_file`; `stage` stands in that error.
  virtual std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                               std::string stage) const = 0;
};

} // namespace leat
