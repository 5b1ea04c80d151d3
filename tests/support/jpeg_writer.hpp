#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

// jpeglib.h must come after <cstdio>, which it needs and does not include.
#include <jpeglib.h>

namespace leat::test {

/// What kind of JPEG to write.
struct jpeg_kind {
  /// 1: gray, 3: RGB as YCbCr, 4: CMYK as it is.
  int components = 3;
  /// Sampling factors of the first component (and the fourth).
  int horizontal = 1;
  int vertical = 1;
  bool progressive = false;
  /// Progressive in two scans, DC and then AC, without refinement (one component only).
  bool two_scans = false;
  /// Interval between restart markers, in blocks; 0: none.
  unsigned restart = 0;
  int quality = 90;
  /// Huffman tables optimized for the file, with codes of all lengths; otherwise those of the
  /// standard.
  bool optimized = false;
  /// R, G, B are stored as they are, not as YCbCr (three components).
  bool rgb = false;
  /// Sampling factors of the components that have none above.
  int other_horizontal = 1;
  int other_vertical = 1;
  /// Bits of all Huffman codes for DC (4 to 16) and for AC (8 to 16), if not 0: unusual ones.
  int dc_bits = 0;
  int ac_bits = 0;
};

inline std::string to_string(const jpeg_kind& x) {
  return std::to_string(x.components) + " components " + std::to_string(x.horizontal) + "x"
         + std::to_string(x.vertical) + ":" + std::to_string(x.other_horizontal) + "x"
         + std::to_string(x.other_vertical) + (x.progressive ? " progressive" : "")
         + (x.optimized ? " optimized" : "") + (x.rgb ? " rgb" : "") + " restart "
         + std::to_string(x.restart) + " quality " + std::to_string(x.quality)
         + (x.dc_bits != 0 ? " DC codes of " + std::to_string(x.dc_bits) : "")
         + (x.ac_bits != 0 ? " AC codes of " + std::to_string(x.ac_bits) : "");
}

/// Smooth waves and some noise, `components` bytes per pixel; the same for the same arguments.
inline std::vector<std::uint8_t> test_pixels(std::size_t width, std::size_t height,
                                             std::size_t components, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> pixels(width * height * components);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < components; ++c)
        pixels[(y * width + x) * components + c] = static_cast<std::uint8_t>(
            (x * (3 + c) + y * (5 - c) + (x * y >> (4 + c)) + random() % 24) & 0xFF);
  return pixels;
}

/// Gives all symbols of a table codes of so many bits.
inline void set_code_bits(JHUFF_TBL& table, int bits) {
  int symbols = 0;
  for (auto& count : table.bits) {
    symbols += count;
    count = 0;
  }
  table.bits[bits] = static_cast<UINT8>(symbols);
}

/// A whole JPEG file. libjpeg's own error exit ends the test program.
inline std::vector<std::byte> write_jpeg(std::span<const std::uint8_t> pixels, std::size_t width,
                                         std::size_t height, const jpeg_kind& kind = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind.components;
  info.in_color_space = kind.components == 1   ? JCS_GRAYSCALE
                        : kind.components == 3 ? JCS_RGB
                                               : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (kind.rgb)
    jpeg_set_colorspace(&info, JCS_RGB);
  info.optimize_coding = kind.optimized ? TRUE : FALSE;
  jpeg_set_quality(&info, kind.quality, TRUE);
  for (int c = 0; c < kind.components; ++c) {
    const bool full = c == 0 || c == 3;
    info.comp_info[c].h_samp_factor = full ? kind.horizontal : kind.other_horizontal;
    info.comp_info[c].v_samp_factor = full ? kind.vertical : kind.other_vertical;
  }
  info.restart_interval = kind.restart;
  if (kind.progressive)
    jpeg_simple_progression(&info);
  const jpeg_scan_info scans[] = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  if (kind.two_scans) {
    info.scan_info = scans;
    info.num_scans = 2;
  }
  for (int i = 0; i < 2; ++i) {
    if (kind.dc_bits != 0)
      set_code_bits(*info.dc_huff_tbl_ptrs[i], kind.dc_bits);
    if (kind.ac_bits != 0)
      set_code_bits(*info.ac_huff_tbl_ptrs[i], kind.ac_bits);
  }
  jpeg_start_compress(&info, TRUE);
  const std::size_t stride = width * static_cast<std::size_t>(kind.components);
  while (info.next_scanline < height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + info.next_scanline * stride);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes, bytes + size);
  std::free(data);
  return file;
}

inline std::vector<std::byte> write_jpeg(std::size_t width, std::size_t height,
                                         const jpeg_kind& kind = {}, std::uint32_t seed = 1) {
  const auto components = static_cast<std::size_t>(kind.components);
  return write_jpeg(test_pixels(width, height, components, seed), width, height, kind);
}

/// All pixels, by the simplest use of libjpeg: R, G, B, or C, M, Y, K as stored. An error ends the
/// test program.
inline std::vector<std::uint8_t> read_jpeg(std::span<const std::byte> file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  const std::size_t stride =
      std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  std::vector<std::uint8_t> pixels(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_destroy_decompress(&info);
  return pixels;
}

/// Offset of the first segment with marker 0xFF `code`, up to the first scan; the file's size if
/// there is none.
inline std::size_t find_marker(std::span<const std::byte> file, int code) {
  for (std::size_t at = 2; at + 4 <= file.size();) {
    if (file[at + 1] == static_cast<std::byte>(code))
      return at;
    if (file[at + 1] == std::byte{0xDA})
      break;
    at += 2 + std::to_integer<std::size_t>(file[at + 2]) * 256
          + std::to_integer<std::size_t>(file[at + 3]);
  }
  return file.size();
}

} // namespace leat::test
