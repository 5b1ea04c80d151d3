#include "tools/made_data/jpeg_writer.hpp"

#include <leat/error.hpp>

#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <cstdlib>

namespace leat {

namespace {

/// libjpeg reports an error by calling `error_exit`, which must not return: it jumps back.
struct jumping_errors {
  jpeg_error_mgr base{};
  std::jmp_buf target{};
  std::array<char, JMSG_LENGTH_MAX> text{};

  jpeg_error_mgr* install() {
    jpeg_std_error(&base);
    base.error_exit = [](j_common_ptr codec) {
      auto* self = reinterpret_cast<jumping_errors*>(codec->err);
      codec->err->format_message(codec, self->text.data());
      std::longjmp(self->target, 1);
    };
    return &base;
  }
};

/// One compressor and the memory that it writes to.
struct encoder {
  jumping_errors errors;
  jpeg_compress_struct codec{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  encoder() = default;
  encoder(const encoder&) = delete;
  encoder& operator=(const encoder&) = delete;
  ~encoder() {
    jpeg_destroy_compress(&codec);
    std::free(bytes);
  }
};

void configure(jpeg_compress_struct& codec, int quality, jpeg_kind kind) {
  codec.input_components = 3;
  codec.in_color_space = JCS_RGB;
  jpeg_set_defaults(&codec);
  if (kind == jpeg_kind::grayscale)
    jpeg_set_colorspace(&codec, JCS_GRAYSCALE);
  if (kind == jpeg_kind::full_colour)
    codec.comp_info[0].h_samp_factor = codec.comp_info[0].v_samp_factor = 1;
  codec.dct_method = JDCT_ISLOW;
  jpeg_set_quality(&codec, quality, TRUE);
}

/// False after an error. Holds no object with a destructor: the jump would pass over it.
bool run(encoder& to, const rgb_image& image, int quality, jpeg_kind kind) {
  to.codec.err = to.errors.install();
  if (setjmp(to.errors.target) != 0)
    return false;
  jpeg_create_compress(&to.codec);
  jpeg_mem_dest(&to.codec, &to.bytes, &to.size);
  to.codec.image_width = static_cast<JDIMENSION>(image.width);
  to.codec.image_height = static_cast<JDIMENSION>(image.height);
  configure(to.codec, quality, kind);
  jpeg_start_compress(&to.codec, TRUE);
  while (to.codec.next_scanline < to.codec.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.row(to.codec.next_scanline));
    jpeg_write_scanlines(&to.codec, &row, 1);
  }
  jpeg_finish_compress(&to.codec);
  return true;
}

} // namespace

std::vector<std::uint8_t> encode_jpeg(const rgb_image& image, int quality, jpeg_kind kind) {
  encoder jpeg;
  if (!run(jpeg, image, quality, kind))
    throw error(errc::invalid_argument, {.stage = "encode_jpeg", .got = jpeg.errors.text.data()});
  return {jpeg.bytes, jpeg.bytes + jpeg.size};
}

} // namespace leat
