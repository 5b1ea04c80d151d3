#pragma once

#include "runtime/folder_files.hpp"
#include "runtime/index_files.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// Where the MCU rows of a class folder's JPEGs begin. A view of index bytes, which it keeps alive.
/// Asking costs O(1), and adopting one pass over all bytes but the places.
class folder_index {
public:
  /// Takes bytes that `write` made for just these images, none of them written since. Empty for all
  /// others, damaged ones too; no byte of them is trusted.
  static std::optional<folder_index> adopt(const index_bytes& bytes,
                                           std::span<const image_file> images);
  /// The bytes of an index: `places` of each image (write_row_places), or nothing.
  static std::vector<std::byte> write(std::span<const image_file> images,
                                      std::span<const std::vector<std::byte>> places);

  /// Of an image by its number in the class; empty where they are not known. Lives as long as the
  /// index; the bytes are checked where they are used.
  std::span<const std::byte> places(std::size_t image) const noexcept {
    return part_between(places_, image == 0 ? 0 : ends_[image - 1], ends_[image]);
  }

private:
  struct header;

  index_bytes bytes_;
  std::span<const std::uint64_t> ends_;
  std::span<const std::byte> places_;
};

/// Where the index of a class folder may lie: index_paths of the class's folder.
std::vector<std::string> folder_index_paths(const folder_files& files, const class_folder& folder,
                                            const folder_options& options);

/// A class folder's stored index, if it has one of its images.
std::optional<folder_index> open_folder_index(const folder_files& files, const class_folder& folder,
                                              const folder_options& options);

} // namespace leat
