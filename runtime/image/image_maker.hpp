#pragma once

#include "runtime/image/image_reader.hpp"
#include "runtime/image/late_image.hpp"
#include "runtime/image/pixels/float_image.hpp"
#include "runtime/image/pixels/float_resampler.hpp"
#include "runtime/image/pixels/image_chain.hpp"
#include "runtime/image/pixels/image_view.hpp"

#include <leat/decode_options.hpp>
#include <leat/rng.hpp>
#include <leat/transforms.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// Makes tensors of image files as a chain of transforms says. Steps that only choose and resize
/// become one resampling on the way from the decoder to the tensor; others work on floats in
/// between. Keeps its buffers; used by one thread at a time.
class image_maker {
public:
  image_maker(image_chain chain, const decode_options& options, const image_reader::ways& ways = {})
      : chain_(std::move(chain)), options_(options), reader_(ways) {}

  /// Called with the tensor's shape, once all random decisions but those of erasing are made.
  /// Answers where to write it.
  using make_tensor = std::function<std::byte*(const shape&)>;

  /// Throws `bad_sample`: what image_reader throws, and wrong_shape where an image is too small.
  /// `places`: as image_reader::open takes them.
  /// `later`: asked whether somebody makes the tensor's bytes later. Empty: they are made at once.
  using make_later = std::function<bool(late_image&)>;
  void make(std::span<const std::byte> file, std::span<const scan_place> places, rng& random,
            const make_tensor& tensor, const make_later& later = {});
  /// The bytes of an image that was to be made later.
  void make_now(const late_image& x, std::byte* to);

  const tensor_form& form() const noexcept { return chain_.form; }

private:
  void apply(const random_resized_crop_step& x, rng& random);
  void apply(const resize_step& x, rng& random);
  void apply(const center_crop_step& x, rng& random);
  void apply(const flip_step& x, rng& random);
  void apply(const padding& x, rng& random);
  void apply(const color_jitter_ranges& x, rng& random);
  void adjust(const color_jitter_factors& by);

  void read(const tensor_form& form, std::byte* to);
  /// Makes the view's pixels, so that steps can change them.
  void realize();
  /// Does what a resize after a resize needs.
  void make_resizable();
  void replace(const image_size& size, const std::function<void(const float_image&)>& fill);
  float_image floats() noexcept;
  void write(std::byte* to);
  void erase(const pixel_rect& part, const image_size& of, std::byte* to, rng* noise) const;
  bool leave(std::span<const std::byte> file, std::span<const scan_place> places,
             const std::optional<color_jitter_factors>& jitter, rng& random,
             const make_later& later);

  image_chain chain_;
  decode_options options_;
  image_reader reader_;
  float_resampler resampler_;

  // The image that is being made.
  image_view view_{{1, 1}};
  /// Whether the view is of `pixels_`; else of the file.
  bool is_read_ = false;
  image_size size_;
  std::vector<float> pixels_;
  std::vector<float> next_pixels_;
};

} // namespace leat
