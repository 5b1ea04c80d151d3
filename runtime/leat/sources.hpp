#pragma once

#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

struct tar_options {
  /// Directory for the shards' indexes. Empty: beside each shard, or in the user's cache directory
  /// ($XDG_CACHE_HOME/leat or ~/.cache/leat) if that is not writable. Or where to look for indexes
  /// that `put_indexes` has stored, and which then are kept as if this was empty: an address of a
  /// directory, or a manifest, "*.leat-manifest", by its path or address. An address for shards of
  /// this machine is refused (`errc::invalid_argument`).
  std::string index_dir = {};
  /// Uses the complete samples before a tear instead of refusing the shard; each opening says so
  /// with a notice. A shard that only lacks its end mark gives all its samples.
  bool allow_torn = false;
  remote_options remote = {};
};

struct folder_options {
  /// Directory for the row indexes of class folders. Empty: as in tar_options.
  std::string index_dir = {};
  remote_options remote = {};
};

/// Tar shards in webdataset layout: neighbouring members with the same key are a sample, extensions
/// are its field names in lower case, contents its bytes. A field name that occurs again under the
/// same key begins another sample. Patterns are paths with braces ("train-{000000..000099}.tar",
/// "{a,b}.tar") and globs (sorted bytewise). Files come in the order given. Hidden members are
/// passed over: those with a part of their path that begins with a dot, or is __MACOSX, @eaDir,
/// Thumbs.db or desktop.ini. A notice says what else is passed over. On opening, throws
/// `errc::not_found` (a pattern without a file), `errc::torn_file`.
LEAT_API pipeline tar_shards(std::string pattern, tar_options options = {});
LEAT_API pipeline tar_shards(std::vector<std::string> patterns, tar_options options = {});

/// A folder with one subfolder per class. Records are its files *.jpg, *.jpeg, *.jfif, *.png and
/// *.webp, sorted bytewise by relative path; hidden entries are passed over as in tar_shards, at
/// any depth, and a notice says what else is. Fields "jpg" (the file, even if it is a PNG or WebP,
/// so that all samples have the same fields; decoding looks at the bytes), "cls" (the class's
/// number in bytewise order, as ASCII) and "class" (the subfolder's name). On opening, throws
/// `errc::not_found` (no folder, no class, no image), `errc::io`.
LEAT_API pipeline image_folder(std::string directory, folder_options options = {});

/// The classes of such a folder: the name of class i is the i-th. Throws what opening it throws.
LEAT_API std::vector<std::string> class_names(const std::string& directory,
                                              const remote_options& remote = {});

/// `records` virtual records. Field "value": uint8 [record_bytes], the record's number as 8 bytes
/// little-endian, repeated and cut to length.
LEAT_API pipeline count(std::uint64_t records, std::size_t record_bytes = 8);

/// A user's source by index. `name` ("cifar@1") goes into the snapshot.
LEAT_API pipeline indexed(std::string name, std::shared_ptr<const source> data);

/// The sources of any pipeline whose records are numbered, in data order, to be read without a
/// loader: `sample x; indexed_sources(job)[0]->read(7, x)`. Opens them; throws what that throws.
LEAT_API std::vector<std::shared_ptr<const source>> indexed_sources(const pipeline& x);

/// Records made by a function of their number.
LEAT_API pipeline from_function(std::string name, std::uint64_t records,
                                std::function<void(std::uint64_t, sample&)> read);

struct raw_options {
  /// Leaves out the rest of a file whose size is not a multiple of a record's.
  bool drop_last = false;
  remote_options remote = {};
};

/// A file of consecutive records of `shape` and `type`, without headers. Field "value". On opening,
/// throws `errc::invalid_argument` if the file's size is not a multiple of a record's, unless the
/// rest is left out.
LEAT_API pipeline raw_records(std::string path, dtype type, shape dims, raw_options options = {});

struct token_options {
  /// From the first token of a window to that of the next one; 0: as far as a window is long. With
  /// length = n + 1 and stride = n, the labels of a window are its tokens from the second one on.
  std::uint64_t stride = 0;
  /// Leaves out the last tokens of a file, where they are fewer than a window has. If false, they
  /// are a shorter window, and the field is ragged.
  bool drop_last = true;
  /// At least 1: so many windows are drawn, each beginning at any token of any file that has a
  /// whole window after it. What window i is depends on the files, `seed` and i alone. At most
  /// 2^62.
  std::uint64_t random_windows = 0;
  std::uint64_t seed = 0;
  remote_options remote = {};
};

/// Windows of `length` tokens in files that consist of tokens of one type, without headers, or are
/// NumPy arrays (*.npy) of that type and rank 1. Patterns as in tar_shards; a window lies in one
/// file. Field "tokens": `type` [length]. `type` is one of whole numbers. On opening, throws
/// `errc::not_found`, `errc::torn_file` (an array that is cut short), `errc::invalid_argument` (a
/// size that is not a multiple of a token's, another array, no file as long as a window that is to
/// be drawn).
LEAT_API pipeline tokens(std::string pattern, dtype type, std::uint64_t length,
                         token_options options = {});
LEAT_API pipeline tokens(std::vector<std::string> patterns, dtype type, std::uint64_t length,
                         token_options options = {});

/// NumPy arrays, as numpy.save writes them (formats 1.0 to 3.0): numbers, little-endian, in C's
/// order, of rank 1 to 7. Records lie along the first axis. Patterns as in tar_shards; all arrays
/// have the same type and, apart from the first axis, the same shape. Field "value": that type,
/// and the shape without its first axis. On opening, throws `errc::not_found`, `errc::torn_file`,
/// `errc::invalid_argument`.
LEAT_API pipeline npy(std::string pattern, const remote_options& remote = {});
LEAT_API pipeline npy(std::vector<std::string> patterns, const remote_options& remote = {});

/// Data sets of Megatron-LM: PREFIX.bin and PREFIX.idx (MMIDIDX, version 1). Records are the
/// documents, each with all its sequences. Prefixes are patterns as in tar_shards, with or without
/// either ending; all data sets have tokens of the same type. Field "tokens": that type, ragged. On
/// opening, reads the indexes once; throws `errc::not_found`, `errc::torn_file` (an index that is
/// damaged or belongs to other data), `errc::invalid_argument`.
LEAT_API pipeline megatron(std::string prefix, const remote_options& remote = {});
LEAT_API pipeline megatron(std::vector<std::string> prefixes, const remote_options& remote = {});

/// In-memory columns of the same length: field "name" of record i is `values[i]` of shape `dims`.
/// The values are moved in, and shared by all copies of the pipeline.
template <class T>
pipeline from_vector(std::string name, std::string field, std::vector<T> values, shape dims = {}) {
  auto stride = dims.elements();
  if (stride == 0 || values.size() % stride != 0)
    throw error(errc::invalid_argument, {.stage = name,
                                         .got = std::to_string(values.size()) + " values",
                                         .needed = "a multiple of " + to_string(dims)});
  auto records = values.size() / stride;
  auto held = std::make_shared<const std::vector<T>>(std::move(values));
  return from_function(std::move(name), records, [=](std::uint64_t i, sample& s) {
    s.set(field, std::span<const T>{held->data() + i * stride, stride}, dims);
  });
}

} // namespace leat
