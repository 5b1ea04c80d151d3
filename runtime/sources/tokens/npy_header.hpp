#pragma once

#include <leat/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace leat {

/// What the header of a NumPy array says: records along its first axis.
struct npy_header {
  dtype type = dtype::u8;
  std::uint64_t records = 0;
  /// The other axes.
  shape dims = {};
  /// Bytes of a record.
  std::uint64_t record_bytes = 0;
  /// Offset of the first record. All records lie in the file, and nothing lies after them.
  std::uint64_t begin = 0;
};

/// Fills `into` with a file's bytes at `offset`, all of which are there.
using read_file_at = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;

/// Whether a file of `bytes` bytes begins as arrays of NumPy do.
bool has_npy_header(std::uint64_t bytes, const read_file_at& read);

/// Reads the header of a file of `bytes` bytes: formats 1.0, 2.0 and 3.0 of NumPy.
///
/// Throws, with `stage` and `file`, `errc::torn_file` if the file ends before its data do, and
/// `errc::invalid_argument` for anything that is not an array of numbers, little-endian and in C's
/// order, of rank 1 to 7, with records of 1 to 2^31 bytes, up to the end of the file.
npy_header read_npy_header(const std::string& stage, const std::string& file, std::uint64_t bytes,
                           const read_file_at& read);

} // namespace leat
