#pragma once

#include "runtime/image/pixels/rgb_view.hpp"
#include "tests/support/tar_writer.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

inline constexpr std::size_t max_pixels = std::size_t{1} << 20; // keeps a run fast

inline void check(bool holds) {
  if (!holds)
    std::abort();
}

/// Runs something whose only exceptions are errors of one code.
template <class Run>
void allow(leat::errc code, Run run) {
  try {
    run();
  } catch (const leat::error& x) {
    check(x.code() == code);
  }
}

/// Reads each byte, so that the sanitizer sees what was not written.
template <class Bytes>
void touch(const Bytes& bytes) {
  static volatile unsigned sink = 0;
  for (const auto x : bytes)
    sink = sink + static_cast<unsigned>(x);
}

inline void read_pixels(const leat::rgb_view& view) {
  for (std::size_t y = 0; y < view.height; ++y)
    touch(std::span{view.row(y), 3 * view.width});
}

inline std::uint32_t hash(std::span<const std::byte> bytes) {
  std::uint32_t sum = 2166136261U;
  for (const auto x : bytes)
    sum = (sum ^ std::to_integer<std::uint32_t>(x)) * 16777619U;
  return sum;
}

/// How a header is read from bytes in memory; bytes that the file does not have are not asked for.
inline auto read_of(std::span<const std::byte> file) {
  return [file](std::uint64_t offset, std::span<std::byte> into) {
    check(offset <= file.size() && file.size() - offset >= into.size());
    if (!into.empty())
      std::memcpy(into.data(), file.data() + offset, into.size());
  };
}

/// An archive whose headers have correct checksums, which random bytes seldom have.
inline std::string with_checksums(std::string archive) {
  for (std::size_t at = 0; at + 512 <= archive.size(); at += 512) {
    auto header = archive.substr(at, 512);
    leat::test::tar_writer::seal(header);
    archive.replace(at, 512, header);
  }
  return archive;
}
