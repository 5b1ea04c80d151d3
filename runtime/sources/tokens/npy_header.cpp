#include "runtime/sources/tokens/npy_header.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::string_view npy_magic{"\x93NUMPY", 6};
/// Format 1.0 has no more, and NumPy itself refuses more than 10,000.
constexpr std::uint64_t longest_header = 65535;

struct npy_type {
  std::string_view name;
  dtype type;
};

constexpr std::array npy_types{
    npy_type{"|b1", dtype::u8},  npy_type{"|u1", dtype::u8},  npy_type{"|i1", dtype::i8},
    npy_type{"<u1", dtype::u8},  npy_type{"<i1", dtype::i8},  npy_type{"<u2", dtype::u16},
    npy_type{"<i2", dtype::i16}, npy_type{"<u4", dtype::u32}, npy_type{"<i4", dtype::i32},
    npy_type{"<u8", dtype::u64}, npy_type{"<i8", dtype::i64}, npy_type{"<f2", dtype::f16},
    npy_type{"<f4", dtype::f32}, npy_type{"<f8", dtype::f64},
};

/// The header's text: a dict of Python with the three keys that NumPy writes.
class header_text {
public:
  header_text(const std::string& stage, const std::string& file, std::string_view text)
      : stage_(stage), file_(file), text_(text) {}

  struct content {
    std::optional<std::string> type = {};
    std::optional<bool> is_fortran = {};
    std::optional<std::vector<std::uint64_t>> dims = {};
  };

  content parse() {
    content x;
    expect('{');
    while (!next_is('}')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr" && !x.type)
        x.type = type();
      else if (key == "fortran_order" && !x.is_fortran)
        x.is_fortran = flag();
      else if (key == "shape" && !x.dims)
        x.dims = extents();
      else
        refuse("the key " + excerpt(key), "descr, fortran_order and shape, each once");
      if (!next_is(','))
        break;
      expect(',');
    }
    expect('}');
    skip_space();
    if (at_ < text_.size())
      refuse("text after the header's }", "nothing but white space there");
    if (!x.type || !x.is_fortran || !x.dims)
      refuse("a header without all of its keys", "descr, fortran_order and shape");
    return x;
  }

  [[noreturn]] void refuse(std::string got, std::string needed) const {
    throw_file_error(errc::invalid_argument, stage_, file_, std::move(got), std::move(needed));
  }

private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool next_is(char x) {
    skip_space();
    return at_ < text_.size() && text_[at_] == x;
  }
  void expect(char x) {
    if (!next_is(x))
      refuse("a header with " + excerpt(text_.substr(at_)), std::string{"'"} + x + "' there");
    ++at_;
  }

  std::string quoted() {
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const auto end = text_.find(quote, at_);
    if (end == std::string_view::npos || text_.substr(at_, end - at_).find('\\') != text_.npos)
      refuse("a header with " + excerpt(text_.substr(at_)), "a plain text in quotes");
    std::string x{text_.substr(at_, end - at_)};
    at_ = end + 1;
    return x;
  }

  /// A list in place of a name is a record with fields of its own.
  std::string type() {
    if (next_is('['))
      refuse("an array of records with named fields", "an array of numbers");
    return quoted();
  }

  bool flag() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view{word}.size();
        return value;
      }
    refuse("a header with " + excerpt(text_.substr(at_)), "True or False there");
  }

  std::vector<std::uint64_t> extents() {
    std::vector<std::uint64_t> x;
    expect('(');
    bool is_separated = true;
    while (!next_is(')')) {
      if (!is_separated)
        refuse("a header with " + excerpt(text_.substr(at_)), "',' or ')' there");
      x.push_back(number());
      is_separated = next_is(',');
      if (is_separated)
        expect(',');
    }
    if (x.size() == 1 && !is_separated)
      refuse("a shape that is no tuple", "one with a comma, like (5,)");
    expect(')');
    return x;
  }

  std::uint64_t number() {
    std::uint64_t x = 0;
    const auto* begin = text_.data() + at_;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), x);
    if (failure != std::errc{})
      refuse("a header with " + excerpt(text_.substr(at_)), "an extent below 2^64 there");
    at_ += static_cast<std::size_t>(end - begin);
    return x;
  }

  const std::string& stage_;
  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Little-endian.
std::uint64_t number_in_bytes(std::string_view bytes) {
  std::uint64_t x = 0;
  for (auto i = bytes.size(); i-- > 0;)
    x = x << 8 | static_cast<unsigned char>(bytes[i]);
  return x;
}

/// Sets dims and bytes of a record.
void set_npy_record(npy_header& x, const std::vector<std::uint64_t>& dims,
                    const header_text& errors) {
  if (dims.empty() || dims.size() > shape::max_rank + 1)
    errors.refuse("an array of rank " + std::to_string(dims.size()),
                  "records along a first axis: rank 1 to " + std::to_string(shape::max_rank + 1));
  x.records = dims[0];
  x.record_bytes = size_of(x.type);
  bool fits = true;
  for (std::size_t i = 1; i < dims.size(); ++i)
    fits = !__builtin_mul_overflow(x.record_bytes, dims[i], &x.record_bytes) && fits;
  if (!fits || x.record_bytes == 0 || x.record_bytes > max_record_bytes)
    errors.refuse("an array of shape [" + listed(dims, [](auto dim) { return std::to_string(dim); })
                      + ']',
                  "1 to 2^31 bytes per record");
  for (auto i = dims.size(); i-- > 1;)
    x.dims = x.dims.behind(dims[i]);
}

[[noreturn]] void npy_torn(const std::string& stage, const std::string& file, std::uint64_t bytes,
                           std::string needed) {
  throw error(errc::torn_file, {.stage = stage,
                                .file = file,
                                .offset = bytes,
                                .got = "the end of the file",
                                .needed = std::move(needed)});
}

void check_npy_end(const npy_header& x, std::uint64_t bytes, const std::string& stage,
                   const std::string& file, const header_text& errors) {
  std::uint64_t all = 0;
  const auto there = bytes - x.begin;
  if (__builtin_mul_overflow(x.records, x.record_bytes, &all) || all > there)
    npy_torn(stage, file, bytes,
             std::to_string(x.records) + " records of " + std::to_string(x.record_bytes)
                 + " bytes from byte " + std::to_string(x.begin)
                 + " on, as the header says: the file was cut short");
  if (all < there)
    errors.refuse(std::to_string(there - all) + " bytes after the array", "one array per file");
}

} // namespace

bool has_npy_header(std::uint64_t bytes, const read_file_at& read) {
  std::array<char, npy_magic.size()> first{};
  if (bytes < first.size())
    return false;
  read(0, std::as_writable_bytes(std::span{first}));
  return std::string_view{first.data(), first.size()} == npy_magic;
}

npy_header read_npy_header(const std::string& stage, const std::string& file, std::uint64_t bytes,
                           const read_file_at& read) {
  const header_text beginning{stage, file, {}};
  const auto text_at = [&](std::uint64_t offset, std::uint64_t size) {
    if (bytes < offset || bytes - offset < size)
      npy_torn(stage, file, bytes, "the header of a NumPy array: the file was cut short");
    std::string text(static_cast<std::size_t>(size), '\0');
    read(offset, std::as_writable_bytes(std::span{text}));
    return text;
  };
  if (!has_npy_header(bytes, read))
    beginning.refuse("a file without NumPy's first bytes",
                     "an array that numpy.save wrote; numbers without a header are read by "
                     "tokens(\""
                         + file + "\", type=..., length=...), or raw_records");
  const auto version = text_at(npy_magic.size(), 2);
  if (version[0] < 1 || version[0] > 3 || version[1] != 0)
    beginning.refuse("format " + std::to_string(static_cast<unsigned char>(version[0])) + '.'
                         + std::to_string(static_cast<unsigned char>(version[1])),
                     "NumPy's format 1.0, 2.0 or 3.0");
  const auto length_at = npy_magic.size() + version.size();
  const std::uint64_t length_bytes = version[0] == 1 ? 2 : 4;
  const auto length = number_in_bytes(text_at(length_at, length_bytes));
  if (length > longest_header)
    beginning.refuse("a header of " + std::to_string(length) + " bytes",
                     "at most " + std::to_string(longest_header));
  const auto text = text_at(length_at + length_bytes, length);
  header_text header{stage, file, text};
  const auto content = header.parse();
  const auto known = std::find_if(npy_types.begin(), npy_types.end(),
                                  [&](const auto& x) { return x.name == *content.type; });
  if (known == npy_types.end())
    header.refuse("elements of type " + excerpt(*content.type),
                  "little-endian numbers of a type that leat has, such as \"<u2\"");
  if (*content.is_fortran && content.dims->size() > 1)
    header.refuse("an array in Fortran's order", "C's order (numpy.ascontiguousarray)");
  npy_header x{.type = known->type, .begin = length_at + length_bytes + length};
  set_npy_record(x, *content.dims, header);
  check_npy_end(x, bytes, stage, file, header);
  return x;
}

} // namespace leat
