#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

/// Why an image is left to the processor.
enum class cpu_reason : std::uint8_t {
  /// PNG, WebP, or no image.
  format,
  /// Progressive, arithmetic, 12 bits, several scans.
  not_baseline,
  /// Restart markers.
  restarts,
  /// CMYK, or sampling factors of which one is no multiple of another.
  components,
  /// Huffman tables: none, wrong ones, more than two of a kind, or too many long codes.
  tables,
  /// No places are known, or they are of another file.
  no_places,
  /// It does not fit the room of a whole group.
  too_large,
  /// Steps between decoding and the tensor: padding, a second resize, others after colour jitter.
  steps,
  /// Its transform is `exact`.
  exact,
  /// Random erasing with noise.
  noise,
  /// A later function of the pipeline reads or changes the pixels.
  read,
  /// The device has too little memory for groups.
  memory,
  /// All groups are with the device.
  busy,
  /// The device found it damaged: the processor judges.
  damage,
  /// nvJPEG, where it decodes, refuses the file, or is not asked: colours that are R, G and B.
  not_for_nvjpeg,
};
inline constexpr std::size_t num_cpu_reasons = 15;

/// "no row index", to end a line that counts such images.
std::string_view to_string(cpu_reason x) noexcept;

} // namespace leat
