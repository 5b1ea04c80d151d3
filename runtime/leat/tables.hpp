#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>
#include <leat/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// What happens to a row in which a chosen column is null.
enum class null_policy : std::uint8_t {
  /// The sample is bad: missing_field.
  bad,
  /// The sample has no such field: see `default_field`.
  no_field,
};

struct table_options {
  /// The columns that become fields. Empty: all.
  std::vector<std::string> columns = {};
  null_policy nulls = null_policy::bad;
  /// Decoded blocks are kept until they take more than this. The two used last are always kept.
  std::uint64_t cache_bytes = std::uint64_t{1} << 29;
  /// What fields are to be, whatever columns hold: "u8" to "i64", "f32", "f64" for elements of
  /// numbers, decimals and columns of nulls; "bytes" for the text of decimals.
  std::map<std::string, std::string> types = {};
};

/// The rows of Parquet files: see docs/operators/parquet.md. Patterns are as in tar_shards. Blocks
/// of rows (row groups) are decoded as a whole, by the reader that the program registered for
/// "parquet"; a windowed shuffle counts each as a file. On opening, throws
/// `errc::invalid_argument` if there is no reader, and for files whose columns differ;
/// `errc::not_found`, and what the reader throws.
LEAT_API pipeline parquet(std::string pattern, table_options options = {},
                          const remote_options& remote = {});
LEAT_API pipeline parquet(std::vector<std::string> patterns, table_options options = {},
                          const remote_options& remote = {});

/// The rows of Arrow IPC files and streams, and Feather of version 2: see docs/operators/arrow.md.
/// As `parquet`, with the reader for "arrow", and for files of this machine; blocks are record
/// batches.
LEAT_API pipeline arrow(std::string pattern, table_options options = {});
LEAT_API pipeline arrow(std::vector<std::string> patterns, table_options options = {});

// For readers of such files. The Python package registers those of pyarrow.

/// How a column's values become fields.
enum class column_kind : std::uint8_t {
  /// A tensor of the same shape in every row.
  dense,
  ragged,
  bytes,
};

/// The values of one column in a block of rows. Spans point to memory that the block keeps.
struct table_column {
  std::string name = {};
  column_kind kind = column_kind::dense;
  dtype type = dtype::u8;
  /// The shape of a row's tensor, or of an element of a ragged column.
  shape dims = {};
  /// Those of all rows, one after the other.
  std::span<const std::byte> values = {};
  /// Where the elements of each row begin in `values`, and where those of the last row end: as many
  /// numbers as there are rows, and one more. Empty for dense columns.
  std::span<const std::int64_t> offsets = {};
  /// For each row whether it is null: 0, or 1, or 2 if it is a list that contains a null. Empty if
  /// none is.
  std::span<const std::uint8_t> nulls = {};
};

/// Some rows of a file, decoded.
struct table_block {
  std::uint64_t rows = 0;
  std::vector<table_column> columns = {};
  /// What it takes in memory.
  std::uint64_t bytes = 0;
  std::shared_ptr<const void> memory = {};
};

/// A range of a file's bytes.
struct table_range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// What a file says of itself.
struct table_file {
  std::vector<std::uint64_t> rows_per_block = {};
  /// Names and types of the chosen columns as text, which is part of the data's identity.
  std::string columns = {};
  /// The names alone, in the same order.
  std::vector<std::string> names = {};
  /// Of a file that is not on this machine: what `read_far` will read of each block, so that it is
  /// fetched before it is needed, in the order of the job. Empty: nobody knows.
  std::vector<std::vector<table_range>> ranges_per_block = {};
};

/// A file that is not on this machine. All members are called by many threads at once.
class LEAT_API far_table {
public:
  /// A range of its bytes, and the memory that they go to.
  struct part {
    std::uint64_t offset = 0;
    std::span<std::byte> into = {};
  };

  virtual ~far_table();

  /// Its address.
  virtual const std::string& name() const noexcept = 0;
  /// Its bytes.
  virtual std::uint64_t size() const noexcept = 0;
  /// Another one for each file, and for each version of a file.
  virtual const std::string& version() const noexcept = 0;
  /// Reads all parts, of which those that adjoin are one request. Blocks. Throws `leat::error`.
  virtual void read(std::span<const part> parts) const = 0;
};

/// Reads files of one format. All members are const and called by many threads at once.
class LEAT_API table_reader {
public:
  virtual ~table_reader();

  /// Reads no rows. Throws `leat::error`.
  virtual table_file open(const std::string& path, const table_options& options) const = 0;
  /// Throws `bad_sample` for damaged content, which makes every row of the block bad, and
  /// `leat::error` for a failing store.
  virtual table_block read(const std::string& path, std::uint64_t block,
                           const table_options& options) const = 0;

  /// The same of a file that is not on this machine. A reader that does not override them refuses
  /// such files: `errc::invalid_argument`.
  virtual table_file open_far(const far_table& file, const table_options& options) const;
  virtual table_block read_far(const far_table& file, std::uint64_t block,
                               const table_options& options) const;
};

/// Makes a reader known for `format`: "parquet" or "arrow". A later one replaces it. Any thread.
LEAT_API void register_table_reader(std::string format, std::shared_ptr<const table_reader> reader);

} // namespace leat
