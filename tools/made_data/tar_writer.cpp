#include "tools/made_data/tar_writer.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/system_words.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t block_bytes = 512;
constexpr std::uint64_t size_limit = std::uint64_t{1} << 33;

/// Field layout of a ustar header: offset and length in bytes.
/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
struct header_field {
  std::size_t offset;
  std::size_t length;
};
constexpr header_field name_field{0, 100};
constexpr header_field mode_field{100, 8};
constexpr header_field uid_field{108, 8};
constexpr header_field gid_field{116, 8};
constexpr header_field size_field{124, 12};
constexpr header_field mtime_field{136, 12};
constexpr header_field checksum_field{148, 8};
constexpr header_field type_field{156, 1};
constexpr header_field magic_field{257, 8};

class tar_header {
public:
  tar_header(std::string_view name, std::uint64_t size) {
    set_text(name_field, name);
    set_octal(mode_field, 0644);
    set_octal(uid_field, 0);
    set_octal(gid_field, 0);
    set_octal(size_field, size);
    set_octal(mtime_field, 0);
    set_text(type_field, "0");
    set_text(magic_field, std::string_view("ustar\00000", 8));
    set_checksum();
  }

  std::string_view bytes() const { return {block_.data(), block_.size()}; }

private:
  void set_text(header_field field, std::string_view text) {
    std::memcpy(block_.data() + field.offset, text.data(), text.size());
  }

  /// Zero-padded digits that leave the last byte of the field zero.
  void set_octal(header_field field, std::uint64_t value) {
    for (std::size_t i = field.length - 1; i-- > 0; value /= 8)
      block_[field.offset + i] = static_cast<char>('0' + value % 8);
  }

  /// The sum of all bytes, with the checksum itself taken as spaces.
  void set_checksum() {
    set_text(checksum_field, "        ");
    std::uint64_t sum = 0;
    for (const char byte : block_)
      sum += static_cast<unsigned char>(byte);
    set_octal({checksum_field.offset, checksum_field.length - 1}, sum);
    block_[checksum_field.offset + 6] = '\0';
  }

  std::array<char, block_bytes> block_{};
};

void check_member(const std::filesystem::path& path, std::string_view name, std::uint64_t size) {
  if (name.empty() || name.size() > name_field.length)
    throw_file_error(errc::invalid_argument, "tar_writer", path.string(),
                     "member name '" + std::string(name) + "'", "1 to 100 bytes");
  if (size >= size_limit)
    throw_file_error(errc::invalid_argument, "tar_writer", path.string(),
                     std::to_string(size) + " bytes", "less than 8 GiB");
}

} // namespace

tar_writer::tar_writer(std::filesystem::path path)
    : path_(std::move(path)), unfinished_(path_.string() + ".unfinished"),
      out_(unfinished_, std::ios::binary | std::ios::trunc) {
  write({});
}

tar_writer::~tar_writer() {
  std::error_code already_renamed;
  std::filesystem::remove(unfinished_, already_renamed);
}

void tar_writer::add(std::string_view name, std::span<const std::uint8_t> content) {
  add(name, std::string_view{reinterpret_cast<const char*>(content.data()), content.size()});
}

void tar_writer::add(std::string_view name, std::string_view content) {
  check_member(path_, name, content.size());
  write(tar_header(name, content.size()).bytes());
  write(content);
  const std::size_t padding = (block_bytes - content.size() % block_bytes) % block_bytes;
  write(std::string(padding, '\0'));
}

void tar_writer::finish() {
  write(std::string(2 * block_bytes, '\0'));
  out_.close();
  write({});
  std::error_code failure;
  std::filesystem::rename(unfinished_, path_, failure);
  if (failure)
    throw error(errc::io,
                {.stage = "tar_writer", .file = path_.string(), .got = failure.message()});
}

/// With no bytes it only checks what opening or closing the stream did.
void tar_writer::write(std::string_view bytes) {
  if (out_ && !bytes.empty())
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out_)
    throw error(errc::io, {.stage = "tar_writer",
                           .file = unfinished_.string(),
                           .offset = offset_,
                           .got = system_words(errno)});
  offset_ += bytes.size();
}

} // namespace leat
