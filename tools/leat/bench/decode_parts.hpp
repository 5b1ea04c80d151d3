#pragma once

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"

#include "tools/leat/bench/decode_cases.hpp"
#include "tools/leat/bench/image_ring.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::command {

/// Parts of the work of image_reader's own way.
enum class decode_part {
  headers,
  planning,
  huffman_tables,
  unstuffing,
  /// Entropy decoding of what is not needed, and of what is.
  skimming,
  decoding,
  transforming,
  narrowing,
  writing,
};

inline constexpr std::size_t num_decode_parts = 9;

const char* name_of(decode_part x) noexcept;

/// Seconds, by part.
using part_seconds = std::array<double, num_decode_parts>;

/// Adds up time by part, less that of looking at the clock.
class part_watch {
public:
  part_watch();
  void begin() { last_ = clock::now(); }
  /// What passed since the last call was this part.
  void lap(decode_part x) {
    const auto now = clock::now();
    seconds_[static_cast<std::size_t>(x)] +=
        std::chrono::duration<double>(now - last_).count() - own_seconds_;
    last_ = now;
  }
  const part_seconds& seconds() const noexcept { return seconds_; }

private:
  using clock = std::chrono::steady_clock;

  part_seconds seconds_{};
  clock::time_point last_;
  double own_seconds_ = 0;
};

/// Does what image_reader::make does by leat's own decoder, through the same classes, and times
/// each part: a copy of its loop, to be kept in step with it. `agrees` says whether it is.
class timed_reader {
public:
  explicit timed_reader(const image_reader::ways& allowed = {});

  /// Whether leat's own decoder takes the image: libjpeg has those whose coefficients overflow.
  bool takes(const decode_case& x);
  /// Makes pixels. Without `transforms` no coefficients become samples, so that the pixels mean
  /// nothing: what that saves is the time of the transform, which is too short to be timed alone.
  void make(const decode_case& x, bool with_places, bool transforms, const tensor_form& form,
            std::byte* to, part_watch& watch);
  /// Whether pixels are image_reader's.
  bool agrees(const decode_case& x, const tensor_form& form);

private:
  struct plane {
    std::vector<std::uint8_t> samples;
    std::size_t stride = 0;
  };

  void plan(const decode_case& x);
  void reserve();
  void decode_row(bool transforms, part_watch& watch);
  void transform_groups(std::size_t first_mcu);

  image_reader reader_;
  plane_decoder headers_;
  inverse_dct transform_;
  scan_decoder scan_;
  plane_resampler resampler_;
  jpeg_frame frame_;
  mcu_rect part_;
  std::array<plane, 3> planes_;
  /// Whether the coefficients of the image made last fit.
  bool fits_ = true;
  aligned_vector<std::int16_t> coefficients_;
};

/// Times all images once in this thread; microseconds an image, by part.
part_seconds time_parts(timed_reader& by, const std::vector<const decode_case*>& images,
                        bool with_places, const tensor_form& form, image_ring& to);

} // namespace leat::command
