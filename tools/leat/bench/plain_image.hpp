#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/image.hpp>
#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat::command {

/// What leat's decoding is measured against: pixels as a plain C++ program makes them.
/// libjpeg-turbo decodes the whole image to R, G, B (accurate transform, smooth upsampling), and
/// loops over floats, left to the compiler, resize it (antialiased bilinear, rows first), normalise
/// it and separate the channels. Keeps its decompressor and its buffers; used by one thread at a
/// time.
class plain_image : not_copied {
public:
  plain_image();
  ~plain_image();

  /// Reads the headers of a whole file, borrowed until its pixels were made. Throws `bad_sample`
  /// (corrupt) with libjpeg's text.
  image_size open(std::span<const std::byte> file);

  /// Makes the opened file's pixels, [3, window.height, window.width]: of `form`, type f32 or u8
  /// and layout nchw. Once for each `open`. Throws as `open` does; damage that libjpeg only warns
  /// of stays.
  void make(const resize_plan& what, const tensor_form& form, std::byte* to);

private:
  /// Weights of inputs first[i] .. first[i]+count[i]-1 for output i: `taps` floats per output.
  struct axis {
    std::vector<std::size_t> first;
    std::vector<std::size_t> count;
    std::vector<float> weights;
    std::size_t taps = 0;

    void plan(std::size_t begin, std::size_t inputs, std::size_t resized, std::size_t window_begin,
              std::size_t window);
    void mirror();
  };
  struct decompressor;

  void decode();
  /// Rows that the window needs, each as wide as the window.
  void narrow(std::size_t width);
  void sum_rows(std::size_t y);

  std::unique_ptr<decompressor> jpeg_;
  image_size size_;
  std::vector<std::uint8_t> pixels_;
  axis across_;
  axis down_;
  std::vector<float> row_;
  std::vector<float> narrowed_;
  std::size_t first_narrowed_ = 0;
};

/// The maps train_image and eval_image, with the same names and parameters, and so with the same
/// random crops, but made by plain_image. They also throw `errc::invalid_argument` for types and
/// layouts that plain_image does not make.
map_stage plain_train_image(const std::string& field, const image_options& options = {});
map_stage plain_eval_image(const std::string& field, const image_options& options = {});

} // namespace leat::command
