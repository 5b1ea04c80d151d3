#include "runtime/sources/tokens/megatron_index.hpp"

#include "runtime/base/limits.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace leat {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored little-endian");

constexpr std::string_view index_magic{"MMIDIDX\0\0", 9};
constexpr std::uint64_t index_header_bytes = 34;
constexpr std::uint64_t documents_per_offset = 64;

/// The first bytes of an index.
struct index_header {
  std::uint64_t version = 0;
  std::uint8_t type = 0;
  std::uint64_t sequences = 0;
  /// Entries of the list of documents: one more than there are documents.
  std::uint64_t bounds = 0;
};

/// What is wrong, and where in the index.
class complaints {
public:
  explicit complaints(const megatron_files& files) : files_(files) {}

  [[noreturn]] void refuse(errc code, std::uint64_t offset, std::string got,
                           std::string needed) const {
    throw error(code, {.stage = "megatron",
                       .file = files_.index,
                       .offset = offset,
                       .got = std::move(got),
                       .needed = std::move(needed)});
  }
  [[noreturn]] void damaged(std::uint64_t offset, std::string got, std::string needed) const {
    refuse(errc::torn_file, offset, std::move(got), std::move(needed));
  }

  const megatron_files& files() const noexcept { return files_; }

private:
  const megatron_files& files_;
};

/// Numbers that lie one after the other in a file, read in large blocks.
template <class T>
class stored_numbers {
public:
  stored_numbers(const read_file_at& read, std::uint64_t begin, std::uint64_t count)
      : read_(read), begin_(begin), count_(count) {}

  /// The next one. There are at most `count` of them.
  T next() {
    if (at_ == block_.size())
      fill();
    ++given_;
    return block_[at_++];
  }

  /// Offset of the number that was given last.
  std::uint64_t offset() const noexcept { return begin_ + (given_ - 1) * sizeof(T); }

private:
  void fill() {
    constexpr std::uint64_t bytes_per_read = 1 << 19;
    block_.resize(static_cast<std::size_t>(std::min(bytes_per_read / sizeof(T), count_ - given_)));
    read_(begin_ + given_ * sizeof(T), std::as_writable_bytes(std::span{block_}));
    at_ = 0;
  }

  const read_file_at& read_;
  std::uint64_t begin_;
  std::uint64_t count_;
  std::uint64_t given_ = 0;
  std::vector<T> block_;
  std::size_t at_ = 0;
};

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T x;
  std::memcpy(&x, bytes.data() + at, sizeof x);
  return x;
}

index_header read_index_header(const complaints& errors, const read_file_at& read) {
  const auto bytes = errors.files().index_bytes;
  std::array<std::byte, index_header_bytes> first{};
  const auto held = std::span{first}.first(std::min(index_header_bytes, bytes));
  read(0, held);
  const auto begin = std::min<std::size_t>(index_magic.size(), held.size());
  if (begin == 0 || std::memcmp(held.data(), index_magic.data(), begin) != 0)
    errors.refuse(errc::invalid_argument, 0, "a file without the first bytes MMIDIDX",
                  "the .idx file of a data set that Megatron-LM's preprocess_data wrote");
  if (held.size() < first.size())
    errors.damaged(bytes, "the end of the file",
                   std::to_string(index_header_bytes)
                       + " bytes of a header: the file was cut short");
  const index_header x{.version = number_at<std::uint64_t>(held, 9),
                       .type = number_at<std::uint8_t>(held, 17),
                       .sequences = number_at<std::uint64_t>(held, 18),
                       .bounds = number_at<std::uint64_t>(held, 26)};
  if (x.version != 1)
    errors.refuse(errc::invalid_argument, 9, "version " + std::to_string(x.version), "version 1");
  return x;
}

dtype token_type_of(const index_header& x, const complaints& errors) {
  switch (x.type) {
  case 1:
    return dtype::u8;
  case 2:
    return dtype::i8;
  case 3:
    return dtype::i16;
  case 4:
    return dtype::i32;
  case 5:
    return dtype::i64;
  case 8:
    return dtype::u16;
  default:
    errors.refuse(errc::invalid_argument, 17, "elements with type code " + std::to_string(x.type),
                  "tokens: code 1 (u8), 2 (i8), 3 (i16), 4 (i32), 5 (i64) or 8 (u16)");
  }
}

constexpr std::uint64_t bytes_per_sequence = 4 + 8;
constexpr std::uint64_t bytes_per_bound = 8;

/// The file is exactly as large as its header says, so that each number in it is where it belongs.
void check_index_size(const index_header& x, const complaints& errors) {
  const auto bytes = errors.files().index_bytes;
  std::uint64_t sequences = 0;
  std::uint64_t bounds = 0;
  std::uint64_t needed = 0;
  const bool fits = !__builtin_mul_overflow(x.sequences, bytes_per_sequence, &sequences)
                    && !__builtin_mul_overflow(x.bounds, bytes_per_bound, &bounds)
                    && !__builtin_add_overflow(sequences, bounds, &needed)
                    && !__builtin_add_overflow(needed, index_header_bytes, &needed);
  const auto counts = std::to_string(x.sequences) + " sequences and " + std::to_string(x.bounds)
                      + " bounds of documents";
  if (x.bounds == 0)
    errors.damaged(26, counts, "at least one bound");
  if (fits && needed + x.sequences == bytes && x.sequences > 0)
    errors.refuse(errc::invalid_argument, needed, "modes of sequences, as multimodal data has",
                  "data that is only tokens");
  if (!fits || needed != bytes)
    errors.damaged(18, std::to_string(bytes) + " bytes with " + counts,
                   fits ? std::to_string(needed) + " bytes for as many"
                        : "a file that can hold them");
}

/// A document that is being read.
struct open_document {
  std::uint64_t offset = 0;
  std::uint64_t tokens = 0;
};

/// The bounds of documents: the sequence with which each begins, and in the end the number of
/// sequences.
class document_bounds {
public:
  document_bounds(const index_header& x, const read_file_at& read, const complaints& errors)
      : errors_(errors), sequences_(x.sequences), left_(x.bounds - 1),
        numbers_(read, index_header_bytes + x.sequences * bytes_per_sequence, x.bounds) {
    if (const auto first = numbers_.next(); first != 0)
      errors_.damaged(numbers_.offset(),
                      "document 0 from sequence " + std::to_string(first) + " on",
                      "from sequence 0 on");
    if (left_ == 0 && sequences_ > 0)
      errors_.damaged(numbers_.offset(), "sequences, and no document", "a document for each");
    advance();
  }

  /// Whether a document ends before this sequence, which is not below that of the last call.
  bool ends_at(std::uint64_t sequence) const noexcept { return has_end_ && end_ == sequence; }

  /// Goes on to the next document.
  void advance() {
    has_end_ = left_ > 0;
    if (!has_end_)
      return;
    const auto last = std::exchange(end_, 0);
    const auto bound = numbers_.next();
    --left_;
    ++document_;
    const auto least = static_cast<std::int64_t>(last);
    if (bound < least || static_cast<std::uint64_t>(bound) > sequences_)
      errors_.damaged(numbers_.offset(),
                      "document " + std::to_string(document_ - 1) + " to sequence "
                          + std::to_string(bound),
                      "a bound from " + std::to_string(last) + " to " + std::to_string(sequences_));
    end_ = static_cast<std::uint64_t>(bound);
    if (left_ == 0 && end_ != sequences_)
      errors_.damaged(numbers_.offset(), "a last document to sequence " + std::to_string(end_),
                      "to " + std::to_string(sequences_) + ", the number of sequences");
  }

private:
  const complaints& errors_;
  std::uint64_t sequences_;
  std::uint64_t left_;
  stored_numbers<std::int64_t> numbers_;
  std::uint64_t document_ = 0;
  std::uint64_t end_ = 0;
  bool has_end_ = false;
};

/// Lengths and offsets of sequences, each checked against the end of the one before.
class sequence_list {
public:
  sequence_list(const index_header& x, std::uint64_t token_bytes, const read_file_at& read,
                const complaints& errors)
      : errors_(errors), token_bytes_(token_bytes), lengths_(read, index_header_bytes, x.sequences),
        offsets_(read, index_header_bytes + x.sequences * sizeof(std::int32_t), x.sequences) {}

  /// Where the next one begins.
  std::uint64_t end() const noexcept { return end_; }

  /// The number of its tokens.
  std::uint64_t next() {
    const auto length = lengths_.next();
    const auto offset = offsets_.next();
    if (length < 0)
      errors_.damaged(lengths_.offset(), name() + " with " + std::to_string(length) + " tokens",
                      "a length from 0 on");
    if (offset < 0 || static_cast<std::uint64_t>(offset) != end_)
      errors_.damaged(offsets_.offset(), name() + " at byte " + std::to_string(offset),
                      "byte " + std::to_string(end_) + ", where the one before it ends");
    const auto tokens = static_cast<std::uint64_t>(length);
    if (tokens > (errors_.files().data_bytes - end_) / token_bytes_)
      errors_.damaged(lengths_.offset(),
                      name() + " with " + std::to_string(tokens) + " tokens from byte "
                          + std::to_string(end_) + " on",
                      errors_.files().data + " to hold them; it has "
                          + std::to_string(errors_.files().data_bytes) + " bytes");
    end_ += tokens * token_bytes_;
    ++number_;
    return tokens;
  }

private:
  std::string name() const { return "sequence " + std::to_string(number_); }

  const complaints& errors_;
  std::uint64_t token_bytes_;
  stored_numbers<std::int32_t> lengths_;
  stored_numbers<std::int64_t> offsets_;
  std::uint64_t number_ = 0;
  std::uint64_t end_ = 0;
};

} // namespace

megatron_index::megatron_index(const megatron_files& files, const read_file_at& read) {
  const complaints errors{files};
  const auto x = read_index_header(errors, read);
  type_ = token_type_of(x, errors);
  check_index_size(x, errors);
  tokens_.reserve(static_cast<std::size_t>(x.bounds - 1));
  document_bounds documents{x, read, errors};
  sequence_list sequences{x, size_of(type_), read, errors};
  open_document open;
  for (std::uint64_t i = 0;; ++i) {
    for (; documents.ends_at(i); documents.advance()) {
      append(open.tokens, open.offset);
      open = {.offset = sequences.end()};
    }
    if (i == x.sequences)
      break;
    open.tokens += sequences.next();
    if (open.tokens > max_record_bytes / size_of(type_))
      errors.refuse(errc::invalid_argument, index_header_bytes + i * sizeof(std::int32_t),
                    "document " + std::to_string(size()) + " with more than 2^31 bytes",
                    "at most 2^31 bytes per document");
  }
  if (sequences.end() != files.data_bytes)
    errors.damaged(files.index_bytes,
                   "sequences with " + std::to_string(sequences.end()) + " bytes in all",
                   std::to_string(files.data_bytes) + " bytes, the size of " + files.data);
}

void megatron_index::append(std::uint64_t tokens, std::uint64_t offset) {
  if (tokens_.size() % documents_per_offset == 0)
    offsets_.push_back(offset);
  tokens_.push_back(static_cast<std::uint32_t>(tokens));
}

megatron_index::range megatron_index::document(std::uint64_t number) const noexcept {
  const auto first = number / documents_per_offset * documents_per_offset;
  std::uint64_t before = 0;
  for (auto i = first; i < number; ++i)
    before += tokens_[i];
  return {offsets_[number / documents_per_offset] + before * size_of(type_), tokens_[number]};
}

} // namespace leat
