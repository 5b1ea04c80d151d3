#pragma once

#include "runtime/sources/tokens/npy_header.hpp"

#include <leat/tensor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

/// The two files of a data set, and their sizes in bytes.
struct megatron_files {
  std::string index;
  std::uint64_t index_bytes = 0;
  std::string data;
  std::uint64_t data_bytes = 0;
};

/// Where the documents of a data set of Megatron-LM lie in its .bin file. Keeps 4 bytes per
/// document, and 8 for each 64.
class megatron_index {
public:
  /// Reads the .idx file (MMIDIDX, version 1) once, from its beginning to its end, and checks all
  /// of it: the sequences lie one after the other, from the first byte of the .bin file to its
  /// last, and each belongs to one document.
  ///
  /// Throws `errc::torn_file` for a file that is cut short or does not belong to the other, and
  /// `errc::invalid_argument` for one of another kind, with the file, the place in it and the
  /// number of the sequence or document; `errc::no_resources` never: what it allocates is smaller
  /// than the file.
  megatron_index(const megatron_files& files, const read_file_at& read);

  dtype type() const noexcept { return type_; }
  /// Number of documents.
  std::uint64_t size() const noexcept { return tokens_.size(); }

  struct range {
    /// Offset of its first byte in the .bin file.
    std::uint64_t offset = 0;
    std::uint64_t tokens = 0;
  };
  /// Where a document lies; it must exist.
  range document(std::uint64_t number) const noexcept;

private:
  void append(std::uint64_t tokens, std::uint64_t offset);

  dtype type_ = dtype::u8;
  /// The tokens of each document.
  std::vector<std::uint32_t> tokens_;
  /// Offset of each 64th document.
  std::vector<std::uint64_t> offsets_;
};

} // namespace leat
