#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/jpeg/jpeg_session.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"

namespace leat::dct_scale_test {

using namespace leat::test;

namespace {

std::size_t scale_for(std::size_t width, std::size_t height, const image_size& resized) {
  return dct_scale_for({{5, 7, width, height}, resized, {0, 0, 1, 1}});
}

/// For each component: samples per block, width and height of the plane.
using plane_sizes = std::vector<std::array<std::size_t, 3>>;

/// The sizes that libjpeg gives. An error ends the test program.
plane_sizes libjpeg_sizes(std::span<const std::byte> file, std::size_t eighths) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  info.scale_num = static_cast<unsigned>(eighths);
  info.scale_denom = 8;
  jpeg_calc_output_dimensions(&info);
  plane_sizes result;
  for (int c = 0; c < info.num_components; ++c) {
    const auto& x = info.comp_info[c];
#if JPEG_LIB_VERSION >= 70
    const int samples = x.DCT_h_scaled_size;
#else
    const int samples = x.DCT_scaled_size;
#endif
    result.push_back(
        {static_cast<std::size_t>(samples), x.downsampled_width, x.downsampled_height});
  }
  jpeg_destroy_decompress(&info);
  return result;
}

plane_sizes own_sizes(std::span<const std::byte> file, std::size_t eighths) {
  jpeg_session session;
  REQUIRE(session.open(file));
  const auto frame = scaled(session.frame(), eighths);
  plane_sizes result;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto size = frame.plane_size(c);
    result.push_back({frame.components[c].samples, size.width, size.height});
  }
  return result;
}

} // namespace

TEST_CASE("dct_scale: what is decoded stays larger than its pixels, in both directions") {
  const image_size target{224, 160};
  for (const std::size_t eighths : {4, 2, 1}) {
    const auto width = target.width * dct_ratio_halves * 4 / eighths;
    const auto height = target.height * dct_ratio_halves * 4 / eighths;
    CHECK(scale_for(width, height, target) == eighths);
    CHECK(scale_for(width - 1, height, target) == 2 * eighths);
    CHECK(scale_for(width, height - 1, target) == 2 * eighths);
    CHECK(scale_for(100 * width, height, target) == eighths);
  }
}

TEST_CASE("dct_scale: images that are not much reduced keep their size") {
  CHECK(scale_for(224, 224, {224, 224}) == 8);
  CHECK(scale_for(500, 375, {341, 256}) == 8);
  CHECK(scale_for(1, 1, {224, 224}) == 8);
  CHECK(scale_for(10'000, 1, {1, 1}) == 8);
}

TEST_CASE("dct_scale: neither place nor window of the pixels matters") {
  const resize_plan whole{{0, 0, 4000, 3000}, {224, 224}, {0, 0, 224, 224}};
  const resize_plan part{{3, 900, 4000, 3000}, {224, 224}, {17, 100, 5, 3}, true};
  CHECK(dct_scale_for(whole) == dct_scale_for(part));
}

TEST_CASE("dct_scale: sizes of planes are libjpeg's") {
  for (const auto& [across, down] :
       {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}})
    for (const int components : {1, 3})
      for (const auto& [others_across, others_down] : {std::pair{1, 1}, {2, 1}, {2, 2}})
        for (const std::size_t width : {1, 7, 8, 9, 63, 64, 65, 130}) {
          const jpeg_kind kind{.components = components,
                               .horizontal = across,
                               .vertical = down,
                               .other_horizontal = others_across,
                               .other_vertical = others_down};
          if (across * down + 2 * others_across * others_down > 10)
            continue;
          const auto file = write_jpeg(width, 131 - width, kind);
          for (const std::size_t eighths : {8, 4, 2, 1}) {
            CAPTURE(to_string(kind), width, eighths);
            CHECK(own_sizes(file, eighths) == libjpeg_sizes(file, eighths));
          }
        }
}

} // namespace leat::dct_scale_test
