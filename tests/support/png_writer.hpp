#pragma once

#include <png.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace leat::test {

/// What kind of PNG to write.
struct png_kind {
  /// PNG_COLOR_TYPE_...
  int color = PNG_COLOR_TYPE_RGB;
  /// Bits per sample.
  int depth = 8;
  bool interlaced = false;
  /// With a tRNS chunk: one transparent color, or entries of the palette that are half transparent.
  bool transparent = false;
  /// With chunks for gamma, a text and a time.
  bool metadata = false;
};

inline std::string to_string(const png_kind& x) {
  return "color type " + std::to_string(x.color) + " depth " + std::to_string(x.depth)
         + (x.interlaced ? " interlaced" : "") + (x.transparent ? " transparent" : "");
}

/// Every valid combination of color type and depth.
inline std::vector<png_kind> all_png_kinds() {
  std::vector<png_kind> kinds;
  for (const int depth : {1, 2, 4, 8, 16})
    kinds.push_back({.color = PNG_COLOR_TYPE_GRAY, .depth = depth});
  for (const int depth : {1, 2, 4, 8})
    kinds.push_back({.color = PNG_COLOR_TYPE_PALETTE, .depth = depth});
  for (const int color : {PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB_ALPHA})
    for (const int depth : {8, 16})
      kinds.push_back({.color = color, .depth = depth});
  return kinds;
}

inline std::size_t samples_per_pixel(const png_kind& kind) {
  switch (kind.color) {
  case PNG_COLOR_TYPE_GRAY_ALPHA:
    return 2;
  case PNG_COLOR_TYPE_RGB:
    return 3;
  case PNG_COLOR_TYPE_RGB_ALPHA:
    return 4;
  default:
    return 1;
  }
}

/// Entry `i` of the palette, which is the same in all files that have one.
inline png_color palette_entry(std::size_t i) {
  return {static_cast<png_byte>(7 * i + 3), static_cast<png_byte>(255 - 5 * i),
          static_cast<png_byte>(i * i)};
}

/// Samples of `kind.depth` bits, pixel by pixel; the same for the same arguments.
inline std::vector<unsigned> png_samples(std::size_t width, std::size_t height,
                                         const png_kind& kind, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<unsigned> samples(width * height * samples_per_pixel(kind));
  for (auto& x : samples)
    x = static_cast<unsigned>(random()) >> (32 - kind.depth);
  return samples;
}

/// Rows as in a file, one after the other; the first sample is in the highest bits.
inline std::vector<png_byte> packed_rows(const std::vector<unsigned>& samples, std::size_t height,
                                         const png_kind& kind) {
  const auto depth = static_cast<std::size_t>(kind.depth);
  const std::size_t in_row = samples.size() / height;
  const std::size_t stride = (in_row * depth + 7) / 8;
  std::vector<png_byte> rows(stride * height);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t bit = 0; bit < in_row * depth; ++bit) {
      const unsigned sample = samples[y * in_row + bit / depth];
      const unsigned value = sample >> (depth - 1 - bit % depth) & 1U;
      rows[y * stride + bit / 8] |= static_cast<png_byte>(value << (7 - bit % 8));
    }
  return rows;
}

inline void write_png_header(png_structp png, png_infop info, std::size_t width, std::size_t height,
                             const png_kind& kind) {
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               kind.depth, kind.color, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const std::size_t entries = std::size_t{1} << kind.depth;
  const bool has_palette = kind.color == PNG_COLOR_TYPE_PALETTE;
  if (has_palette) {
    std::vector<png_color> palette;
    palette.reserve(entries);
    for (std::size_t i = 0; i < entries; ++i)
      palette.push_back(palette_entry(i));
    png_set_PLTE(png, info, palette.data(), static_cast<int>(entries));
  }
  if (kind.transparent) {
    const std::vector<png_byte> alpha(has_palette ? entries : 0, png_byte{128});
    png_color_16 color{};
    color.gray = color.red = color.green = color.blue = 1;
    png_set_tRNS(png, info, alpha.data(), static_cast<int>(alpha.size()), &color);
  }
  if (kind.metadata) {
    png_set_gAMA(png, info, 1.0);
    char key[] = "Comment";
    char words[] = "waves";
    png_text text{};
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    text.key = key;
    text.text = words;
    png_set_text(png, info, &text, 1);
    const png_time time{2026, 11, 21, 12, 30, 0};
    png_set_tIME(png, info, &time);
  }
  png_write_info(png, info);
}

/// A whole PNG file, its pixels in several chunks. libpng's own error exit ends the test program.
inline std::vector<std::byte> write_png(const std::vector<unsigned>& samples, std::size_t width,
                                        std::size_t height, const png_kind& kind = {}) {
  std::vector<std::byte> file;
  auto* png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  auto* info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep data, std::size_t size) {
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        auto& out = *static_cast<std::vector<std::byte>*>(png_get_io_ptr(to));
        out.insert(out.end(), bytes, bytes + size);
      },
      nullptr);
  png_set_compression_buffer_size(png, 300);
  write_png_header(png, info, width, height, kind);
  auto rows = packed_rows(samples, height, kind);
  std::vector<png_bytep> pointers;
  pointers.reserve(height);
  for (std::size_t y = 0; y < height; ++y)
    pointers.push_back(rows.data() + y * (rows.size() / height));
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

inline std::vector<std::byte> write_png(std::size_t width, std::size_t height,
                                        const png_kind& kind = {}, std::uint32_t seed = 1) {
  return write_png(png_samples(width, height, kind, seed), width, height, kind);
}

/// A part of a file: 4 bytes with the length of the data, 4 with the name, data, 4 of checksum.
struct png_chunk {
  std::string name;
  std::size_t begin;
  std::size_t length;

  std::size_t data() const { return begin + 8; }
  std::size_t end() const { return begin + 12 + length; }
};

inline std::size_t number_at(const std::vector<std::byte>& file, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | std::to_integer<std::size_t>(file[at + i]);
  return number;
}

inline void set_number(std::vector<std::byte>& file, std::size_t at, std::size_t number) {
  for (std::size_t i = 0; i < 4; ++i)
    file[at + i] = static_cast<std::byte>(number >> (24 - 8 * i));
}

/// All chunks that are complete in the file.
inline std::vector<png_chunk> png_chunks(const std::vector<std::byte>& file) {
  constexpr std::size_t signature = 8;
  std::vector<png_chunk> chunks;
  for (std::size_t at = signature; at + 12 <= file.size();) {
    const png_chunk chunk{
        {reinterpret_cast<const char*>(file.data()) + at + 4, 4}, at, number_at(file, at)};
    if (chunk.end() > file.size())
      break;
    chunks.push_back(chunk);
    at = chunk.end();
  }
  return chunks;
}

/// Corrects all checksums.
inline void repair_checksums(std::vector<std::byte>& file) {
  for (const auto& x : png_chunks(file)) {
    const auto* named = reinterpret_cast<const Bytef*>(file.data()) + x.begin + 4;
    set_number(file, x.end() - 4, crc32(0, named, static_cast<uInt>(x.length + 4)));
  }
}

} // namespace leat::test
