#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/error.hpp>
#include <leat/source_facts.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Distinguishes versions of a stored object (a file).
struct object_version {
  /// A time that no file has: the store knows none, and `tag` alone tells versions of one size
  /// apart.
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();

  std::uint64_t size = 0;
  /// When it was last written.
  std::int64_t mtime_ns = 0;
  /// Whatever else the store knows: the inode of a file; the version id or ETag of a remote object.
  std::string tag = {};

  friend bool operator==(const object_version&, const object_version&) = default;
};

/// What a name refers to.
enum class object_kind : std::uint8_t {
  /// Any part of it can be read, any number of times.
  plain,
  folder,
  /// `stat` gives what it leads to.
  link,
  /// A pipe, a device.
  other,
};

struct object_stat {
  /// Never `link`: links are followed.
  object_kind is = object_kind::plain;
  object_version version = {};
};

/// An entry of a folder.
struct listed_object {
  /// Name below the folder, without '/'.
  std::string name;
  object_kind is = object_kind::plain;
  /// Set if listing gives it without a further request.
  std::optional<object_version> version = {};
};

/// A range of bytes of an object, and where they go.
struct read_part {
  /// Index among the objects that were opened together.
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::span<std::byte> into = {};
};

/// A range of bytes that will be read.
struct expected_range {
  /// Index among the objects that were opened together.
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// The result of a read.
struct read_result {
  /// Number of bytes that were read, filling the parts in order.
  std::uint64_t bytes = 0;
  /// The failure, with the object's name and, if there is one, the offset; null if there was none.
  /// A pointer, so that results without a failure stay small.
  std::shared_ptr<const error> failure = {};
};

/// Called once per read, from any thread. Must not block.
using read_done = std::function<void(read_result)>;

/// Gives memory for a read, from any thread. Throws std::bad_alloc.
using read_room = std::function<std::span<std::byte>()>;

/// Objects of a store that a source reads, by number. Many threads may call all members
/// concurrently.
class stored_objects : not_copied {
public:
  /// No read may be in flight.
  virtual ~stored_objects() = default;

  virtual std::string name(std::size_t object) const = 0;
  /// Where it lies: server, bucket and key. Empty: on this machine, or its version is not known.
  virtual std::string place(std::size_t) const { return {}; }

  /// The version that `read` reads. Blocks. Throws `leat::error` (not_found, io, no_resources).
  virtual object_version stat(std::size_t object) = 0;

  /// What somebody knows of the version: `read` reads it or fails, and `stat` need not ask a
  /// server. Without effect where the version is known already, or has no tag that a header may
  /// have, and for files of this machine.
  virtual void expect_version(std::size_t, const object_version&) {}

  /// Reads these parts, in one request if the store can. Like pread(2), a read may return fewer
  /// bytes than it was asked for, but at least one, unless the object of the first part has none
  /// there (`read_now` asks for the rest).
  ///
  /// `done` is called before this returns if the bytes are available at once: local files are read
  /// in the caller's thread. Otherwise this returns at once and `done` comes later; a store has a
  /// limited number of reads in flight, and others wait in it. The memory of the parts belongs to
  /// the store until then; `parts` itself is not used after the return.
  ///
  /// Once `stop` is requested, `done` is called soon, with a failure unless everything has been
  /// read by then. Failures are values; this throws only if the process lacks memory, and then
  /// `done` is not called.
  virtual void read(std::span<const read_part> parts, read_done done,
                    const std::stop_token& stop) = 0;

  /// Like `read`, but waits for the result. A store that reads in the caller's thread overrides
  /// this to save the cost of waiting.
  virtual read_result read_here(std::span<const read_part> parts, const std::stop_token& stop);

  /// Like `read`, for bytes that nobody waits for yet: what others wait for comes first.
  virtual void read_ahead(std::span<const read_part> parts, read_done done,
                          const std::stop_token& stop);
  /// The same of a range, into memory that `room` gives once it is needed: ends with no byte, and
  /// without memory, if all is so near that `read_here` will not wait for a server.
  virtual void read_ahead_if_far(const expected_range& range, read_room room, read_done done,
                                 const std::stop_token& stop);

  /// A hint: the caller's thread will read this range after what it reads next.
  virtual void expect(std::size_t object, std::uint64_t offset, std::uint64_t size) noexcept;
  /// A hint: threads will read these ranges soon, each once and about in this order. False if the
  /// store has no use for it, as its reads cost no waiting.
  virtual bool expect_soon(std::span<const expected_range> ranges) noexcept;
  /// A hint: nothing that was expected before will be read.
  virtual void expect_nothing() noexcept;
  /// A hint: `stat` will be called for all objects, which may take a request each.
  virtual void expect_stats() noexcept;
  /// A hint: these ranges may be expected soon, and are worth fetching meanwhile. Returns what
  /// `expect_soon` does.
  virtual bool expect_perhaps(std::span<const expected_range> ranges) noexcept;

  /// Whether nothing is gained by reading this ahead, as `read_here` has it at hand. Does not
  /// block.
  virtual bool is_at_hand(const expected_range&) noexcept { return false; }
};

/// The versions of the first `count` objects, if all of them lie on servers that name some. Throws
/// as `stat`.
stored_versions versions_of(stored_objects& objects, std::size_t count);

/// Objects that are another store's, but for how they are read.
class objects_over : public stored_objects {
public:
  explicit objects_over(std::shared_ptr<stored_objects> from) : from_(std::move(from)) {}

  std::string name(std::size_t object) const override { return from_->name(object); }
  std::string place(std::size_t object) const override { return from_->place(object); }
  object_version stat(std::size_t object) override { return from_->stat(object); }
  void expect_version(std::size_t object, const object_version& x) override {
    from_->expect_version(object, x);
  }
  void expect_stats() noexcept override { from_->expect_stats(); }

protected:
  stored_objects& from() const noexcept { return *from_; }

private:
  const std::shared_ptr<stored_objects> from_;
};

/// Objects that are read in the caller's thread.
class near_objects : public stored_objects {
public:
  void read(std::span<const read_part> parts, read_done done, const std::stop_token& stop) final {
    done(read_here(parts, stop));
  }
  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) final;

  /// As `read`; throws the failure.
  virtual std::uint64_t read_parts(std::span<const read_part> parts) = 0;
};

/// How objects are read: a hint.
enum class read_pattern : std::uint8_t {
  /// In large parts, or now and then.
  normal,
  /// A few objects, each read all the time, in small parts at any offset.
  random,
  /// Any number of objects, a few at a time and each from its beginning to its end.
  sequential,
};

/// Names of more objects than should be held in memory.
class object_names : not_copied {
public:
  virtual ~object_names() = default;

  virtual std::string name(std::size_t object) const = 0;
  /// Size of the object when it was listed.
  virtual std::uint64_t bytes(std::size_t object) const = 0;
};

/// Whom a store asks for an object.
struct asked_server {
  /// "https://HOST"; empty: nobody, it is on this machine.
  std::string place = {};
  /// Whose requests they are: "the profile \"default\""; empty: nobody's.
  std::string by = {};
};

/// For errors: what is needed where nothing can be put.
inline constexpr auto places_to_put =
    "a path of this machine, s3://BUCKET/KEY or gs://BUCKET/KEY: web servers and the Hub are read "
    "only";

/// Larger objects would be put in parts.
inline constexpr std::uint64_t most_put_bytes = std::uint64_t{1} << 30;

/// Where data is stored: a file system, web servers. `store_of` gives that of a name. Many threads
/// may call all members concurrently. All of them block; reads of the opened objects need not.
class object_store : not_copied {
public:
  virtual ~object_store() = default;

  /// Calls `each` for the entries of a folder, not of its subfolders, in any order.
  /// Throws `errc::not_found`, `errc::io`; the error names what could not be read.
  virtual void list(const std::string& folder,
                    const std::function<void(listed_object)>& each) const = 0;

  /// Throws `errc::not_found`, also for a link that leads nowhere or in a circle; `errc::io`,
  /// `errc::no_resources`.
  virtual object_stat stat(const std::string& name) const = 0;

  /// Opens a few objects, each read many times: files may stay open. No request is made yet.
  virtual std::shared_ptr<stored_objects>
  open(std::vector<std::string> names, read_pattern pattern = read_pattern::normal) const = 0;
  /// Opens many objects, each read now and then as a whole: no file stays open. Reading an object
  /// whose size differs from when it was listed fails with `errc::torn_file` and this `stage`.
  virtual std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                               std::string stage) const = 0;

  /// Makes or replaces an object of at most `most_put_bytes`: there is all of it or nothing,
  /// whatever happens meanwhile, and the last to put one wins. Folders need not exist. Blocks.
  /// Throws `errc::invalid_argument` where `can_put` is false, `errc::io`, `errc::not_found` (the
  /// bucket).
  virtual void put(const std::string& name, std::span<const std::byte> bytes) const;
  /// Whether `put` works.
  virtual bool can_put() const noexcept { return false; }

  /// The only name that is used for an object that has several: what other members take. Throws
  /// `errc::invalid_argument` if none can have this name.
  virtual std::string full_name(const std::string& name) const { return name; }

  /// For people. Throws `errc::invalid_argument`, and what asking for credentials throws.
  virtual asked_server server_of(const std::string&) const { return {}; }
  /// Whether `list` works.
  virtual bool can_list() const noexcept { return true; }
  /// Whether this machine's page cache has most of what is read.
  virtual bool is_near() const noexcept { return false; }
};

} // namespace leat
