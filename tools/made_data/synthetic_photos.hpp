#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace leat {

/// Names of the classes, by class number.
inline constexpr std::array<std::string_view, 10> synthetic_classes{
    "disc", "oval", "box", "diamond", "triangle", "ring", "cross", "crescent", "star", "hourglass"};

struct synthetic_options {
  /// Number of images, 1 to 100,000,000.
  std::uint64_t samples = 1000;
  /// Number of tar files, 1 to `samples`.
  std::uint64_t shards = 8;
  std::uint64_t seed = 0;
  /// Threads that paint and encode, each a whole shard at a time. 0: one per core. The files do not
  /// depend on it.
  std::size_t threads = 0;
};

/// Makes a data set of photograph-like JPEGs to try leat with: `shards` tar files
/// DIR/train-000000.tar .. in webdataset layout, each sample as KEY.jpg, KEY.cls (class number,
/// ASCII) and KEY.txt (class name). KEY is the sample's number with 8 digits.
///
/// Every class has the same number of samples, or one more; classes are mixed at random. Images
/// have about 500 x 375 pixels, several aspect ratios, quality 75 to 95, colour at full and at half
/// resolution, one in twenty in grayscale. The same options give the same bytes.
///
/// Makes the directory. Files of the same names are replaced.
/// Throws `leat::error`: invalid_argument (an option out of range; shards of a larger set in the
/// directory, which would mix with these), io.
void make_synthetic_data(const std::filesystem::path& directory, const synthetic_options& options);

} // namespace leat
