#include "runtime/sources/tar/tar_reader.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/file_kind.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

namespace {

// A header and what follows it: small members (class, text) and the next header come along.
constexpr std::size_t header_bytes = 3584;
constexpr std::uint64_t max_number = std::numeric_limits<std::int64_t>::max();

struct field_place {
  std::size_t offset;
  std::size_t size;
};
constexpr field_place name_field{0, 100};
constexpr field_place size_field{124, 12};
constexpr field_place checksum_field{148, 8};
constexpr std::size_t type_offset = 156;
constexpr field_place magic_field{257, 6};
constexpr field_place prefix_field{345, 155};

std::string_view raw(std::span<const std::byte> header, field_place x) {
  return {reinterpret_cast<const char*>(header.data()) + x.offset, x.size};
}

/// A field's text: up to its first NUL, or all of it.
std::string_view text(std::span<const std::byte> header, field_place x) {
  auto all = raw(header, x);
  return all.substr(0, all.find('\0'));
}

std::optional<std::uint64_t> parse_base256(std::string_view digits) {
  // The first byte's top bit marks the format, the next bit a negative number.
  if ((digits[0] & 0x40) != 0)
    return {};
  std::uint64_t value = static_cast<unsigned char>(digits[0]) & 0x3f;
  for (char c : digits.substr(1)) {
    if (value > (max_number >> 8))
      return {};
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

std::optional<std::uint64_t> parse_octal(std::string_view digits) {
  // At most 12 digits of 3 bits: no overflow.
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_of(std::string_view{" \0", 2}));
  std::uint64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '7')
      return {};
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::optional<std::uint64_t> parse_number(std::string_view field) {
  return (field[0] & 0x80) != 0 ? parse_base256(field) : parse_octal(field);
}

std::optional<std::uint64_t> parse_decimal(std::string_view digits) {
  std::uint64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9' || value > (max_number - 9) / 10)
      return {};
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return digits.empty() ? std::nullopt : std::optional{value};
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte x) { return x == std::byte{0}; });
}

/// Sums of bytes, as unsigned numbers and, as old writers did it, as signed ones.
struct byte_sums {
  std::uint32_t as_unsigned = 0;
  std::uint32_t negative = 0;

  template <class Bytes>
  static byte_sums of(const Bytes& bytes) noexcept {
    byte_sums x;
    for (const auto byte : bytes) { // without a branch: many at a time
      x.as_unsigned += static_cast<std::uint8_t>(byte);
      x.negative += static_cast<std::uint8_t>(byte) >> 7;
    }
    return x;
  }
  std::int64_t as_signed() const noexcept {
    return std::int64_t{as_unsigned} - 256 * std::int64_t{negative};
  }
};

/// `header`: a block. Its checksum counts as spaces.
bool checksum_holds(std::span<const std::byte> header) {
  const auto own = raw(header, checksum_field);
  const auto want = parse_number(own);
  if (!want)
    return false;
  const auto all = byte_sums::of(header.first<tar_reader::block_size>());
  const auto left_out = byte_sums::of(own);
  const auto spaces = std::int64_t{' '} * static_cast<std::int64_t>(own.size());
  const auto sum = static_cast<std::int64_t>(*want);
  return sum == std::int64_t{all.as_unsigned} - std::int64_t{left_out.as_unsigned} + spaces
         || sum == all.as_signed() - left_out.as_signed() + spaces;
}

std::string header_path(std::span<const std::byte> header) {
  std::string path{text(header, name_field)};
  // GNU headers ("ustar  ") keep times where POSIX has the prefix.
  auto prefix = text(header, prefix_field);
  if (raw(header, magic_field) == std::string_view{"ustar\0", 6} && !prefix.empty())
    path = std::string{prefix} + "/" + path;
  return path;
}

bool is_plain_file(char type) {
  return type == '0' || type == '\0' || type == '7';
}

/// Links, devices, directories and pipes have no content, whatever their size field says.
bool has_content(char type) {
  return type < '1' || type > '6';
}

/// Headers that describe the member after them.
bool is_extension(char type) {
  return type == 'L' || type == 'K' || type == 'x' || type == 'X' || type == 'g';
}

std::string quoted_member(std::string_view member) {
  return '"' + std::string{member.substr(0, 200)} + '"';
}

} // namespace

tar_header_mark tar_header_mark::of(std::span<const std::byte> headers) noexcept {
  return {.hash = static_cast<std::uint32_t>(xxh3_64(headers)),
          .blocks = static_cast<std::uint32_t>(headers.size() / tar_reader::block_size)};
}

std::size_t tar_header_mark::bytes() const noexcept {
  return blocks * tar_reader::block_size;
}

tar_reader::tar_reader(std::string file, std::uint64_t file_size, byte_reader read, tar_place from)
    : file_(std::move(file)), file_size_(file_size), read_(std::move(read)), at_(from.offset),
      global_(std::move(from.global)) {}

std::span<const std::byte> tar_reader::peek(std::uint64_t offset, std::size_t size) {
  const bool inside = offset >= window_at_ && offset - window_at_ <= window_.size()
                      && window_.size() - (offset - window_at_) >= size;
  if (!inside) {
    window_.resize(std::max(size, header_bytes));
    window_.resize(read_(offset, window_));
    window_at_ = offset;
  }
  auto bytes = std::span<const std::byte>{window_}.subspan(offset - window_at_);
  return bytes.first(std::min(size, bytes.size()));
}

bool tar_reader::at_end() {
  auto block = peek(at_, block_size);
  if (!is_zero(block))
    return false;
  if (block.size() < block_size)
    refuse_end(block.size());
  at_ += block_size;
  // A cut in the second block of the mark takes no member away.
  return is_zero(peek(at_, block_size));
}

void tar_reader::refuse_end(std::size_t bytes) {
  lacks_end_mark_ = true;
  torn(
      bytes == 0 ? "the end of the file" : std::to_string(bytes) + " zero bytes at its end",
      "another member, or the end mark of an archive (1024 zero bytes): the file was cut short, or "
      "its writer was not closed. Copy or make it again; tar_shards with allow_torn=true reads "
      "what there is");
}

std::optional<std::uint64_t> tar_reader::rest() {
  while (true) {
    const auto block = peek(at_, block_size);
    if (!is_zero(block))
      return at_;
    if (block.size() < block_size)
      return {};
    at_ += block_size;
  }
}

std::optional<tar_member> tar_reader::next() {
  if (auto last = std::exchange(last_, {}))
    skip(last->size, last->path);
  tar_attributes extended;
  std::optional<std::uint64_t> begin;
  bool announced = false;
  while (announced || !at_end()) {
    auto header = peek(at_, block_size);
    if (at_ == 0 && (header.size() < block_size || !checksum_holds(header)))
      check_kind(header);
    if (header.size() < block_size)
      torn(std::to_string(header.size()) + " bytes",
           announced ? "512 bytes, the header after an extended header" : "512 bytes of a header");
    if (!checksum_holds(header))
      torn("a header with a wrong checksum", "a member's header");
    const char type = static_cast<char>(header[type_offset]);
    const auto size = size_in(header);
    if (!begin)
      begin = at_;
    if (!is_extension(type)) {
      auto member = describe(header, type, size, extended);
      member.begin = *begin;
      at_ += block_size;
      last_ = member;
      return member;
    }
    at_ += block_size;
    take_extension(type, size, extended);
    announced = announced || type != 'g';
  }
  return {};
}

tar_header_mark tar_reader::header_mark() {
  const auto bytes = std::min<std::uint64_t>(last_->offset - last_->begin,
                                             tar_header_mark::max_blocks * block_size);
  return tar_header_mark::of(peek(last_->offset - bytes, static_cast<std::size_t>(bytes)));
}

std::uint64_t tar_reader::size_in(std::span<const std::byte> header) {
  auto size = parse_number(raw(header, size_field));
  if (!size)
    torn("a size field that is not a number, in member " + quoted_member(header_path(header)),
         "an octal or base-256 number below 2^63");
  return *size;
}

tar_member tar_reader::describe(std::span<const std::byte> header, char type, std::uint64_t size,
                                tar_attributes& extended) const {
  tar_member x;
  x.offset = at_ + block_size;
  x.regular = is_plain_file(type);
  x.type = type;
  if (!extended.path)
    extended.path = global_.path ? *global_.path : header_path(header);
  x.path = std::move(*extended.path);
  if (type == 'S' || type == 'M')
    unsupported(type == 'S' ? "a GNU sparse member" : "a member of several volumes", x.path);
  if (has_content(type))
    x.size = extended.size.value_or(global_.size.value_or(size));
  // v7 had no type for directories.
  x.directory = type == '5' || x.path.ends_with('/');
  x.regular = x.regular && !x.directory;
  return x;
}

void tar_reader::take_extension(char type, std::uint64_t size, tar_attributes& extended) {
  if (type == 'K') {
    skip(size, "a long link name");
  } else if (type == 'L') {
    auto path = take_payload(size, max_path + 1, "a long name");
    // PAX takes precedence over GNU if an archive has both.
    if (!extended.path)
      extended.path = path.substr(0, path.find('\0'));
  } else {
    apply_pax(take_payload(size, max_pax, "a PAX header"), type == 'g' ? global_ : extended);
  }
}

std::string tar_reader::take_payload(std::uint64_t size, std::size_t limit, std::string_view what) {
  if (size > limit)
    torn(std::string{what} + " of " + std::to_string(size) + " bytes",
         "at most " + std::to_string(limit));
  auto start = at_;
  skip(size, what);
  auto bytes = peek(start, static_cast<std::size_t>(size));
  if (bytes.size() < size)
    torn(std::to_string(bytes.size()) + " bytes of " + std::string{what}, std::to_string(size));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void tar_reader::apply_pax(std::string_view records, tar_attributes& to) const {
  // Each record is "LENGTH KEY=VALUE\n"; LENGTH counts all of it, itself too.
  while (!records.empty() && records[0] != '\0') {
    auto space = records.find(' ');
    auto length = parse_decimal(records.substr(0, std::min(space, records.size())));
    if (space == std::string_view::npos || !length || *length > records.size()
        || *length < space + 2 || records[*length - 1] != '\n')
      torn("a damaged PAX header", "records of LENGTH KEY=VALUE");
    auto record = records.substr(space + 1, *length - space - 2);
    records.remove_prefix(*length);
    auto equals = record.find('=');
    if (equals == std::string_view::npos)
      torn("a PAX record without \"=\"", "KEY=VALUE");
    auto key = record.substr(0, equals);
    auto value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse."))
      unsupported("a GNU sparse member", to.path.value_or(""));
    if (key == "path") {
      if (value.size() > max_path)
        torn("a path of " + std::to_string(value.size()) + " bytes",
             "at most " + std::to_string(max_path));
      to.path = std::string{value};
    } else if (key == "size") {
      to.size = parse_decimal(value);
      if (!to.size)
        torn("a PAX size that is not a number", "a decimal number below 2^63");
    }
  }
}

void tar_reader::skip(std::uint64_t size, std::string_view member) {
  const auto available = file_size_ - std::min(at_, file_size_);
  const auto padded = size <= max_number - block_size
                          ? (size + block_size - 1) / block_size * block_size
                          : max_number;
  if (padded > available)
    torn(std::to_string(available) + " bytes",
         std::to_string(padded) + " of member " + quoted_member(member));
  at_ += padded;
}

void tar_reader::check_kind(std::span<const std::byte> header) const {
  auto kind = kind_of_file(file_, header);
  // What is left of a torn shard may be just a part of its first member's name.
  const auto named = reading_of(file_);
  const bool is_tar_by_name = named == reading::tar_shards || named == reading::tar_stream;
  if (kind.is == file_kind::form::text && is_tar_by_name && header.size() < name_field.size)
    return;
  if (kind && kind.is != file_kind::form::tar)
    throw_file_error(errc::invalid_argument, "tar", file_,
                     kind.what + ", which is not a tar archive", std::move(kind.instead));
}

void tar_reader::torn(std::string got, std::string needed) const {
  throw error(errc::torn_file, {.stage = "tar",
                                .file = file_,
                                .offset = at_,
                                .got = std::move(got),
                                .needed = std::move(needed)});
}

void tar_reader::unsupported(std::string_view what, std::string_view member) const {
  throw error(errc::invalid_argument, {.stage = "tar",
                                       .file = file_,
                                       .offset = at_,
                                       .got = std::string{what} + " " + quoted_member(member),
                                       .needed = "plain files"});
}

} // namespace leat
