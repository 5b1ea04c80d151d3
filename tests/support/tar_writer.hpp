#pragma once

#include "tests/support/files.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace leat::test {

/// Builds tar archives in memory, block by block, for tests: valid ones of every dialect, and
/// broken ones.
class tar_writer {
public:
  static constexpr std::size_t block = 512;

  enum class dialect { v7, ustar, gnu };

  /// A header with a correct checksum. Sizes of 8 GiB and more become base-256.
  static std::string header(std::string_view name, std::uint64_t size, char type = '0',
                            dialect kind = dialect::ustar, std::string_view prefix = {}) {
    std::string x(block, '\0');
    name.copy(x.data(), 100);
    put_octal(x, 100, 8, 0644);
    put_octal(x, 108, 8, 0);
    put_octal(x, 116, 8, 0);
    if (size < std::uint64_t{1} << 33)
      put_octal(x, 124, 12, size);
    else
      put_base256(x, 124, 12, size);
    put_octal(x, 136, 12, 0);
    x[156] = kind == dialect::v7 && type == '0' ? '\0' : type;
    if (kind == dialect::ustar)
      std::memcpy(x.data() + 257, "ustar\00000", 8);
    if (kind == dialect::gnu)
      std::memcpy(x.data() + 257, "ustar  ", 8);
    prefix.copy(x.data() + 345, 155);
    seal(x);
    return x;
  }

  /// Writes the checksum of a header that was changed.
  static void seal(std::string& x) {
    std::memset(x.data() + 148, ' ', 8);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < block; ++i)
      sum += static_cast<unsigned char>(x[i]);
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), "%06o", static_cast<unsigned>(sum));
    std::memcpy(x.data() + 148, digits.data(), 7);
  }

  static std::string padded(std::string_view content) {
    std::string x{content};
    x.resize((x.size() + block - 1) / block * block);
    return x;
  }

  /// "LENGTH KEY=VALUE\n"
  static std::string pax_record(std::string_view key, std::string_view value) {
    const auto rest = key.size() + value.size() + 3;
    auto length = rest + 1;
    while (rest + std::to_string(length).size() != length)
      ++length;
    return std::to_string(length) + " " + std::string{key} + "=" + std::string{value} + "\n";
  }

  tar_writer& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  tar_writer& file(std::string_view name, std::string_view content, char type = '0',
                   dialect kind = dialect::ustar) {
    return raw(header(name, content.size(), type, kind)).raw(padded(content));
  }
  tar_writer& gnu_long(std::string_view name, std::string_view content) {
    auto text = std::string{name} + '\0';
    file("././@LongLink", text, 'L', dialect::gnu);
    return file(name.substr(0, 100), content, '0', dialect::gnu);
  }
  tar_writer& pax(std::string_view name, std::string_view content) {
    file("PaxHeaders/x", pax_record("mtime", "1.5") + pax_record("path", name), 'x');
    return file(name.substr(0, 100), content);
  }
  tar_writer& end() { return raw(std::string(2 * block, '\0')); }

  const std::string& bytes() const { return bytes_; }

  void save(const std::string& path) const { write(path, bytes_); }
  static void write(const std::string& path, std::string_view bytes) { write_content(path, bytes); }

private:
  static void put_octal(std::string& x, std::size_t at, std::size_t size, std::uint64_t value) {
    for (auto i = at + size - 1; i-- > at; value /= 8)
      x[i] = static_cast<char>('0' + value % 8);
  }
  static void put_base256(std::string& x, std::size_t at, std::size_t size, std::uint64_t value) {
    for (auto i = at + size; i-- > at; value /= 256)
      x[i] = static_cast<char>(value % 256);
    x[at] = static_cast<char>(0x80);
  }

  std::string bytes_;
};

} // namespace leat::test
