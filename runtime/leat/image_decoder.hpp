#pragma once

#include <leat/decode_times.hpp>
#include <leat/export.hpp>
#include <leat/resize_plan.hpp>
#include <leat/sample.hpp>
#include <leat/tensor_form.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

struct image_decoder_options {
  /// The exact way, as `decode_options` has it.
  bool exact = false;
  /// More pixels than this, width times height, are a bad sample (too_large).
  std::size_t max_pixels = std::size_t{1} << 27;
  /// False: libjpeg-turbo decodes all JPEGs, also those that leat's own decoder takes. Slower; the
  /// pixels are the same.
  bool own_decoder = true;
};

/// Makes tensors of parts of JPEGs, PNGs and WebPs, as decode_image does: for a map of a program's
/// own that chooses the part itself, and for measurements. It decodes as little of a file as the
/// part needs. Pixels depend on the file and the plan alone. It keeps its memory from image to
/// image; used by one thread at a time.
///
///     leat::image_decoder decoder;
///     const auto size = decoder.open(file);
///     std::vector<float> pixels(3 * 224 * 224);
///     decoder.make(leat::eval_image_plan(size), {}, std::as_writable_bytes(std::span{pixels}));
class LEAT_API image_decoder {
public:
  explicit image_decoder(const image_decoder_options& options = {});
  ~image_decoder();
  image_decoder(const image_decoder&) = delete;
  image_decoder& operator=(const image_decoder&) = delete;

  /// Takes the image in a field, which is borrowed until the next image is opened, and returns its
  /// extents. Uses the data's row index if it has one. Throws `bad_sample`: empty, truncated,
  /// corrupt, unsupported, too_large, missing_field.
  image_size open(const sample& x, std::string_view field);
  /// Takes a file, borrowed likewise. `rows`: what `find_jpeg_rows` says of this file, borrowed
  /// only by this call; rows that are damaged, or another file's, are passed over.
  image_size open(std::span<const std::byte> file, std::span<const std::byte> rows = {});
  /// Whether it is known where the opened image's rows begin.
  bool knows_rows() const noexcept;

  /// Makes pixels of the opened image, window.width x window.height x 3 elements, as `what` and
  /// `form` say: as often as wanted, each time from the file.
  /// Throws `bad_sample` for damage above the last row that the pixels need, and
  /// `errc::invalid_argument`: no image is open; `source` is no part of the image, or `window` none
  /// of `resized`; a type that is none of u8, f32, f16 and bf16; memory of another size.
  void make(const resize_plan& what, const tensor_form& form, std::span<std::byte> to);

  /// Whether leat's own JPEG decoder made the last pixels of the opened image.
  bool used_own_decoder() const noexcept;

  /// Adds the time that images take from now on to `to`, by part; null: no longer. `to` is
  /// borrowed. Costs nothing when off, and about 1 % when on.
  void time(decode_times* to) noexcept;

private:
  struct state;

  std::unique_ptr<state> state_;
};

/// Where the rows of a JPEG begin, so that a part of it is found without decoding all that lies
/// before it: what `leat index` keeps for each image, as bytes. Reads the whole file. Empty for
/// what leat's own decoder does not take: other formats, progressive JPEGs, any damage.
LEAT_API std::vector<std::byte> find_jpeg_rows(std::span<const std::byte> file);

} // namespace leat
