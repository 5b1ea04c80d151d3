#include "tools/leat/bench/plain_image.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/bad_sample.hpp>

#include "tools/leat/option_values.hpp"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <utility>

// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>

namespace leat::command {

// libjpeg reports an error by a function that must not return; ours jumps.
struct plain_image::decompressor {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape{};

  decompressor() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr x) {
      std::longjmp(static_cast<decompressor*>(x->client_data)->escape, 1);
    };
    errors.output_message = [](j_common_ptr) {};
    jpeg_create_decompress(&info);
  }
  ~decompressor() { jpeg_destroy_decompress(&info); }
  decompressor(const decompressor&) = delete;
  decompressor& operator=(const decompressor&) = delete;

  template <class Step>
  void guarded(Step step) {
    if (setjmp(escape) == 0)
      return step();
    char text[JMSG_LENGTH_MAX];
    errors.format_message(reinterpret_cast<j_common_ptr>(&info), text);
    jpeg_abort_decompress(&info);
    throw bad_sample(cause::corrupt, std::string{"JPEG: "} + text);
  }
};

namespace {

/// CMYK as Adobe stores it, inverted; into the front of the same row.
void cmyk_to_rgb(std::uint8_t* row, std::size_t width) {
  for (std::size_t x = 0; x < width; ++x)
    for (std::size_t c = 0; c < 3; ++c)
      row[3 * x + c] = static_cast<std::uint8_t>((row[4 * x + c] * row[4 * x + 3] + 127) / 255);
}

void write_floats(const std::vector<float>& row, const tensor_form& form, std::size_t c,
                  float* to) {
  const float scale = 1 / (255 * form.std[c]);
  const float offset = -form.mean[c] / form.std[c];
  const auto* from = row.data() + c;
  const auto width = row.size() / 3;
  for (std::size_t x = 0; x < width; ++x)
    to[x] = from[3 * x] * scale + offset;
}

void write_bytes(const std::vector<float>& row, std::size_t c, std::uint8_t* to) {
  const auto* from = row.data() + c;
  const auto width = row.size() / 3;
  // lround would keep the compiler from vectorizing. NOLINTNEXTLINE(bugprone-incorrect-roundings)
  auto rounded = [](float value) { return static_cast<std::uint8_t>(value + 0.5F); };
  for (std::size_t x = 0; x < width; ++x)
    to[x] = rounded(from[3 * x]);
}

} // namespace

plain_image::plain_image() : jpeg_(std::make_unique<decompressor>()) {}

plain_image::~plain_image() = default;

image_size plain_image::open(std::span<const std::byte> file) {
  auto& info = jpeg_->info;
  jpeg_abort_decompress(&info);
  jpeg_->guarded([&] {
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info, TRUE);
  });
  return size_ = {info.image_width, info.image_height};
}

void plain_image::decode() {
  auto& info = jpeg_->info;
  const bool is_cmyk = info.num_components == 4;
  info.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  const auto stride = 3 * size_.width;
  // Room for a last row of four bytes per pixel.
  pixels_.resize(stride * size_.height + size_.width);
  jpeg_->guarded([&] {
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      auto* row = pixels_.data() + info.output_scanline * stride;
      jpeg_read_scanlines(&info, &row, 1);
      if (is_cmyk)
        cmyk_to_rgb(row, size_.width);
    }
    jpeg_finish_decompress(&info);
  });
}

/// A triangle as wide as an output pixel, at least two inputs, around each output's centre.
void plain_image::axis::plan(std::size_t begin, std::size_t inputs, std::size_t resized,
                             std::size_t window_begin, std::size_t window) {
  const double scale = static_cast<double>(inputs) / static_cast<double>(resized);
  const double support = std::max(1.0, scale);
  taps = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  first.resize(window);
  count.resize(window);
  weights.assign(window * taps, 0);
  for (std::size_t i = 0; i < window; ++i) {
    const double centre = (static_cast<double>(window_begin + i) + 0.5) * scale;
    // The inputs whose own centres lie within; at least one.
    const auto low = static_cast<std::size_t>(
        std::clamp(std::floor(centre - support + 0.5), 0.0, static_cast<double>(inputs - 1)));
    const auto high = static_cast<std::size_t>(std::clamp(std::floor(centre + support + 0.5),
                                                          static_cast<double>(low + 1),
                                                          static_cast<double>(inputs)));
    float* to = weights.data() + i * taps;
    double sum = 0;
    for (std::size_t t = low; t < high; ++t) {
      const double weight =
          std::max(0.0, 1 - std::abs(static_cast<double>(t) + 0.5 - centre) / support);
      to[t - low] = static_cast<float>(weight);
      sum += weight;
    }
    for (std::size_t t = 0; t < high - low; ++t)
      to[t] = static_cast<float>(to[t] / sum);
    first[i] = begin + low;
    count[i] = high - low;
  }
}

void plain_image::axis::mirror() {
  const auto outputs = first.size();
  std::reverse(first.begin(), first.end());
  std::reverse(count.begin(), count.end());
  for (std::size_t i = 0; i < outputs / 2; ++i)
    std::swap_ranges(weights.data() + i * taps, weights.data() + (i + 1) * taps,
                     weights.data() + (outputs - 1 - i) * taps);
}

void plain_image::narrow(std::size_t width) {
  const auto stride = 3 * size_.width;
  first_narrowed_ = down_.first.front();
  const auto end = down_.first.back() + down_.count.back();
  row_.resize(stride);
  narrowed_.resize((end - first_narrowed_) * 3 * width);
  auto* to = narrowed_.data();
  for (auto y = first_narrowed_; y < end; ++y) {
    const auto* pixels = pixels_.data() + y * stride;
    std::copy(pixels, pixels + stride, row_.begin());
    for (std::size_t x = 0; x < width; ++x, to += 3) {
      const float* from = row_.data() + 3 * across_.first[x];
      const float* weights = across_.weights.data() + x * across_.taps;
      float r = 0;
      float g = 0;
      float b = 0;
      for (std::size_t t = 0; t < across_.count[x]; ++t) {
        r += weights[t] * from[3 * t];
        g += weights[t] * from[3 * t + 1];
        b += weights[t] * from[3 * t + 2];
      }
      to[0] = r;
      to[1] = g;
      to[2] = b;
    }
  }
}

void plain_image::sum_rows(std::size_t y) {
  std::fill(row_.begin(), row_.end(), 0.0F);
  for (std::size_t t = 0; t < down_.count[y]; ++t) {
    const float weight = down_.weights[y * down_.taps + t];
    const float* from = narrowed_.data() + (down_.first[y] + t - first_narrowed_) * row_.size();
    for (std::size_t i = 0; i < row_.size(); ++i)
      row_[i] += weight * from[i];
  }
}

void plain_image::make(const resize_plan& what, const tensor_form& form, std::byte* to) {
  decode();
  const auto& [source, resized, window, mirrored] = what;
  across_.plan(source.x, source.width, resized.width, window.x, window.width);
  down_.plan(source.y, source.height, resized.height, window.y, window.height);
  if (mirrored)
    across_.mirror();
  narrow(window.width);
  row_.resize(3 * window.width);
  for (std::size_t y = 0; y < window.height; ++y) {
    sum_rows(y);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto at = (c * window.height + y) * window.width;
      if (form.type == dtype::f32)
        write_floats(row_, form, c, reinterpret_cast<float*>(to) + at);
      else
        write_bytes(row_, c, reinterpret_cast<std::uint8_t*>(to) + at);
    }
  }
}

namespace {

/// One worker's part of a map.
class plain_maker {
public:
  plain_maker(const std::string& field, const image_options& options)
      : names_(split(field, ';')), options_(options) {}

  /// Reads the headers, and returns the image's size.
  image_size open(const sample& x) {
    name_ = &names_.front();
    for (auto i = names_.rbegin(); i != names_.rend(); ++i)
      if (x.has(*i))
        name_ = &*i;
    const auto size = image_.open(x.bytes(*name_));
    if (size.width * size.height > options_.max_pixels)
      throw bad_sample(cause::too_large, "more pixels than the limit");
    return size;
  }

  void make(sample& x, const resize_plan& what) {
    auto* to = x.make_tensor("image", options_.type, {3, options_.size, options_.size});
    image_.make(what, {.type = options_.type, .mean = options_.mean, .std = options_.std}, to);
    x.erase(*name_);
  }

private:
  std::vector<std::string> names_;
  image_options options_;
  const std::string* name_ = nullptr;
  plain_image image_;
};

void check_form(const map_stage& stage, const image_options& x) {
  if ((x.type != dtype::f32 && x.type != dtype::u8) || x.layout != image_layout::nchw)
    refuse_argument("plain " + stage.name, std::string{to_string(x.type)},
                    "f32 or u8, channels first");
}

/// `stage` with plain C++ in it; `plan_of` plans the crop of an image.
template <class Plan>
map_stage plain(map_stage stage, const std::string& field, const image_options& options,
                Plan plan_of) {
  check_form(stage, options);
  stage.make = [field, options, plan_of] {
    auto maker = std::make_shared<plain_maker>(field, options);
    return [maker, options, plan_of](sample& x, context& in) {
      const auto image = maker->open(x);
      maker->make(x, plan_of(image, in, options));
    };
  };
  return stage;
}

} // namespace

map_stage plain_train_image(const std::string& field, const image_options& options) {
  return plain(train_image(field, options), field, options,
               [](const image_size& image, context& in, const image_options& how) {
                 return train_image_plan(image, in.rng(), how);
               });
}

map_stage plain_eval_image(const std::string& field, const image_options& options) {
  return plain(eval_image(field, options), field, options,
               [](const image_size& image, context&, const image_options& how) {
                 return eval_image_plan(image, how);
               });
}

} // namespace leat::command
