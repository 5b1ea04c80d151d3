#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>
#include <leat/sample.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

// Records that are found by reading, without an index: units (files, or parts of files) that are
// each read from the beginning to the end, one after the other in every lane. docs/iterators.md
// says which unit belongs to which lane.
//
// Patterns are as for `tar_shards`, and may name a pipe ("/dev/stdin"): it can be read once, by the
// first reader, and no snapshot can resume inside it.

/// The order of the units of an epoch.
enum class file_order : std::uint8_t {
  stored,
  /// A different one in every epoch.
  shuffled,
};

struct stream_options {
  file_order order = file_order::stored;
  std::uint64_t seed = 0;
  /// For `tar_stream` only.
  remote_options remote = {};
};

struct line_options {
  /// Parts that each file is cut into, so that one large file feeds many lanes; at least 1. More
  /// than one requires uncompressed files.
  std::uint64_t ranges = 1;
  file_order order = file_order::stored;
  std::uint64_t seed = 0;
  /// For `json_lines` only: what fields are, by name, whatever their values look like. "u8" to
  /// "i64", "f32" or "f64": a number, rank 0; a list of numbers, [n]; true and false are 1 and 0.
  /// "bytes": a text, or the JSON text of anything else. Another value, and a number that the type
  /// cannot represent, make the line a bad sample (wrong_shape); floats are the nearest ones.
  std::map<std::string, std::string> types = {};
  remote_options remote = {};
};

/// The samples of tar files, as `tar_shards` has them. Files whose names end in .gz, .tgz, .zst or
/// .tzst are decompressed while they are read; their records, and those of pipes, are held in
/// memory, so they have at most 1 GiB. Resuming inside a compressed file decompresses it again from
/// the beginning of its gzip member or zstd frame. On opening, throws `errc::not_found` (a pattern
/// without a file).
LEAT_API pipeline tar_stream(std::string pattern, stream_options options = {});
LEAT_API pipeline tar_stream(std::vector<std::string> patterns, stream_options options = {});

/// The lines of text files, without their "\n"; the last one needs none. Field "text". A line has
/// at most 256 MiB. Files may be compressed, as for `tar_stream`. On opening, throws
/// `errc::not_found`, `errc::invalid_argument` (ranges of a file that is compressed or a pipe).
LEAT_API pipeline lines(std::string pattern, line_options options = {});
LEAT_API pipeline lines(std::vector<std::string> patterns, line_options options = {});

/// Lines that are each a JSON object. Its members become fields: texts become bytes; integers
/// int64, other numbers float64, true and false uint8, all of rank 0; arrays of integers int64 [n],
/// of numbers float64 [n]; everything else its JSON text, but null, which is no field. An integer
/// that int64 cannot hold needs a type (line_options::types). A line that is empty, or white space
/// alone, is no record, but has a number. Any other line is a bad sample (corrupt).
LEAT_API pipeline json_lines(std::string pattern, line_options options = {});
LEAT_API pipeline json_lines(std::vector<std::string> patterns, line_options options = {});

/// A user's records that come one after the other: one unit of `sequential`. Must give the same
/// records whenever it is opened. Used by one thread at a time.
class LEAT_API sequential_reader {
public:
  sequential_reader() = default;
  virtual ~sequential_reader();
  sequential_reader(const sequential_reader&) = delete;
  sequential_reader& operator=(const sequential_reader&) = delete;

  /// Sets the fields of the next record in an empty sample; false at the end, and from then on.
  /// Throws `bad_sample` for a bad record; the next call continues with the record after it.
  virtual bool next(sample& into) = 0;

  /// The position of the reader, in a few bytes, which go into snapshots: once per lane, and once
  /// for each record that an operator keeps back. By default nothing: such a unit is then read
  /// again from its beginning after a restore, and for every record that an operator kept back.
  virtual std::optional<std::string> save() const;

  /// Continues where `save` was called in another object of the same unit, perhaps in another
  /// process. Called at most once, before `next`.
  virtual void load(const std::string& state);
};

/// A user's source of `units` units (at least 1), each read by an object of its own: `open(unit)`
/// makes one, from any thread. `name` ("crawl@1") goes into the snapshot; ids are "crawl/UNIT/0",
/// "crawl/UNIT/1", ...
LEAT_API pipeline sequential(std::string name, std::uint64_t units,
                             std::function<std::unique_ptr<sequential_reader>(std::uint64_t)> open,
                             stream_options options = {});

/// Makes such a source known to `parse_pipeline`, as `sequential("crawl@1", units=8)`.
LEAT_API void
register_sequential(std::string name,
                    std::function<std::unique_ptr<sequential_reader>(std::uint64_t)> open);

/// The samples of one unit of a pipeline that is such a source and nothing else, in stored order,
/// to be read without a loader (`indexed_sources` are for numbered records); it saves no state.
/// Throws `errc::invalid_argument` for any other pipeline and for a unit that there is not, and
/// what opening throws.
LEAT_API std::unique_ptr<sequential_reader> open_unit(const pipeline& x, std::uint64_t unit = 0);

} // namespace leat
