#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/sample/item.hpp"

#include <leat/sample.hpp>
#include <leat/source.hpp>
#include <leat/stored_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

class ahead_threads;

struct reader_options {
  /// Unpacks what takes long to unpack, and outlives the reader; null: the caller does it.
  ahead_threads* ahead = nullptr;
  /// Records are to have surroundings, if the store reads these anyway.
  bool surroundings = true;
};

/// One record of a stream: where it is stored and, if the id needs it, its key. This goes into
/// items, and so into buffers and snapshots.
struct stream_record {
  std::uint64_t unit = 0;
  /// Number in its unit, from 0.
  std::uint64_t number = 0;
  /// Offset of its first byte in the file, decompressed.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  /// Needed for the id, or for finding the record again; may be empty.
  std::string key = {};
  /// The content that was read, if the store cannot read it again directly at `offset`; otherwise
  /// null.
  payload_ptr content = {};
  /// What was read and has the record's bytes in it, of a store that can read them again; may be
  /// null. For a sample that is made soon: it may hold far more than the record.
  payload_ptr surroundings = {};
};

/// Where reading a unit continues. Small: a snapshot has one per lane and source.
struct stream_place {
  /// Number and offset of the next record.
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  /// Where decompression can begin again at or before `offset`: the offset in the compressed file,
  /// and that in the decompressed one. For sources of users, their own state.
  std::string restart = {};

  friend bool operator==(const stream_place&, const stream_place&) = default;
};

/// Reads one unit from the beginning to its end. Used by one thread at a time.
class unit_reader : not_copied {
public:
  virtual ~unit_reader() = default;

  /// The next record, with all members set; false at the end of the unit, and from then on. Throws
  /// `leat::error` (io, torn_file), with file and offset.
  virtual bool next(stream_record& into) = 0;
  /// The place after the last record that next() gave, or at the end of the unit after what it
  /// passed over there. `open` with it gives the same records as continuing would.
  virtual stream_place place() const = 0;
};

/// Records that are found by reading: units (files, parts of files) that each have an order.
/// All members are const and called by many threads at once.
class stream_source : not_copied {
public:
  virtual ~stream_source() = default;

  /// In stored order: those of the first file, then those of the next.
  virtual std::uint64_t units() const = 0;
  /// Begins to read a unit. Seeks if the store can; if it cannot, reads up to `from` again and says
  /// how much in a notice. Throws as `unit_reader::next`.
  virtual std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from,
                                            const reader_options& options) const = 0;
  std::unique_ptr<unit_reader> open(std::uint64_t unit, const stream_place& from) const {
    return open(unit, from, {});
  }
  /// True for a unit of a compressed file: `ahead` unpacks it, from when it is opened on.
  virtual bool is_unpacked(std::uint64_t) const { return false; }
  /// Sets the fields of one record in an empty sample, from its content if it has any. Also works
  /// for a record that was stored in a snapshot. Throws `bad_sample`, `leat::error`.
  virtual void read(const stream_record& record, sample& into) const = 0;
  /// True for a record that can only be found by reading what lies before it. If its content was
  /// lost, it is best read again in stored order with all others of which that is true.
  virtual bool is_found_in_sequence(const stream_record& record) const {
    return is_unpacked(record.unit);
  }
  /// The content of such a record, as its reader gives it. Throws `leat::error`, also for a record
  /// that cannot lie in its unit.
  virtual payload_ptr read_content(const stream_record&, const std::stop_token&) const {
    return nullptr;
  }
  /// Appends where the bytes of a record lie, and returns the objects that they lie in; null, and
  /// nothing appended, if they can only be read in sequence, or the record has its content. Throws
  /// `errc::bad_snapshot` for a record that cannot lie there.
  virtual stored_objects* locate(const stream_record&, std::vector<extent>&) const {
    return nullptr;
  }
  /// Needs only unit, number, offset and key.
  virtual void append_id(const stream_record& record, std::string& to) const = 0;
  /// `records` is 0: unknown.
  virtual source_facts facts() const = 0;
  /// Short name of the kind of data: "tar_stream".
  virtual std::string name() const = 0;
  /// For errors: the file that a unit lies in; empty where there is none.
  virtual std::string file_of_unit(std::uint64_t) const { return {}; }
  /// To read a record of at most this many bytes again costs less than to keep its sample.
  virtual std::size_t cheap_again() const { return 0; }
};

} // namespace leat
