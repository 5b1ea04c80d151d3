#pragma once

#include "runtime/sample/item.hpp"

#include <leat/sample.hpp>
#include <leat/source.hpp>
#include <leat/stored_source.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// One record of a stream: where it is stored and, if the id needs it, its key. This goes into
/// items, and so into buffers and snapshots.
struct stream_record {
  std::uint64_t unit = 0;
  /// In its unit, from 0.
  std::uint64_t number = 0;
  /// Offset of its first byte in the file, decompressed.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  /// Needed for the id, or for finding the record again; may be empty.
  std::string key = {};
  /// Where the store cannot be read at `offset` at once: what was read. Null elsewhere.
  payload_ptr content = {};
};

/// Where reading a unit continues. Small: a snapshot has one per lane and source.
struct stream_place {
  /// Number and offset of the next record.
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  /// Where unpacking can begin again at or before `offset`: bytes of the packed file, and the
  /// unpacked offset there. A user's state, for sources of users.
  std::string restart = {};

  friend bool operator==(const stream_place&, const stream_place&) = default;
};

/// Reads one unit from the beginning to its end. Used by one thread at a time.
class unit_reader {
public:
  unit_reader() = default;
  virtual ~unit_reader() = default;
  unit_reader(const unit_reader&) = delete;
  unit_reader& operator=(const unit_reader&) = delete;

  /// The next record, all of it set; false at the end of the unit, then again.
  /// Throws `leat::error` (io, torn_file), with file and offset.
  virtual bool next(stream_record& into) = 0;
  /// The place after the last record that next() gave. `open` with it gives the same records as
  /// continuing would.
  virtual stream_place place() const = 0;
};

/// Records that are found by reading: units (files, parts of files) that each have an order.
/// All members are const and called by many threads at once.
class stream_source {
public:
  stream_source() = default;
  virtual ~stream_source() = default;
  stream_source(const stream_source&) = delete;
  stream_source& operator=(const stream_source&) = delete;

  /// In stored order: those of the first file, then those of the next.
  virtual std::uint64_t units() const = 0;
  /// Begins reading a unit. Seeks where the store can; where it cannot, reads up to `from` again
  /// and says how much with a notice. Throws like `unit_reader::next`.
  virtual std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from) const = 0;
  /// Sets the fields of one record in an empty sample, from its content where it has one. Works for
  /// a record that was stored in a snapshot, too. Throws `bad_sample`, `leat::error`.
  virtual void read(const stream_record& record, sample& into) const = 0;
  /// Needs unit, number, offset and key only.
  virtual void append_id(const stream_record& record, std::string& to) const = 0;
  /// `records` is 0: unknown.
  virtual source_facts facts() const = 0;
  /// Short name of the kind of data: "tar_stream".
  virtual std::string name() const = 0;
};

/// A stream of files, whose records can be read by themselves where a file is neither packed nor a
/// pipe. `read` is then made of these three.
class located_stream : public stream_source {
public:
  /// Where the bytes of a record lie; nothing where they can only be read in sequence, or the
  /// record has its content. Throws `errc::bad_snapshot` for a record that cannot lie there.
  virtual std::optional<extent> locate(const stream_record& record) const = 0;
  /// Sets the fields of an empty sample from these bytes, which outlive its row. Throws
  /// `bad_sample`, and `leat::error` where the file has changed.
  virtual void decode(const stream_record& record, std::span<const std::byte> bytes,
                      sample& into) const = 0;
  /// What the numbers of files in extents mean.
  virtual stored_objects& objects() const = 0;
};

} // namespace leat
