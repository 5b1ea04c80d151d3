#pragma once

#include "runtime/sources/folder/folder_files.hpp"
#include "runtime/sources/index_sections.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// Where the MCU rows of a class folder's JPEGs begin. A view of index bytes, which it keeps alive.
/// A query costs O(1), and adopting one pass over all bytes except the places.
class folder_index {
public:
  /// Takes bytes that `write` made for exactly these images, none of them written since. Empty for
  /// all others, and for damaged ones; no byte of them is trusted.
  static std::optional<folder_index> adopt(const index_bytes& bytes,
                                           std::span<const image_file> images);
  /// The bytes of an index: `places` of each image (write_row_places), or nothing.
  static std::vector<std::byte> write(std::span<const image_file> images,
                                      std::span<const std::vector<std::byte>> places);

  /// The index stored in a file; empty if it is not one of these images.
  static std::optional<folder_index> load(const std::string& path,
                                          std::span<const image_file> images);

  /// Bytes of an image's places, by its number in the class; 0 if they are not known.
  std::size_t place_bytes(std::size_t image) const noexcept {
    return static_cast<std::size_t>(ends_[image] - place_begin(image));
  }
  /// Fills `into`, which has exactly that size; false if the index file no longer has them. They
  /// are checked when they are used.
  bool read_places(std::size_t image, std::span<std::byte> into) const {
    return places_.read(place_begin(image), into);
  }

private:
  std::uint64_t place_begin(std::size_t image) const noexcept {
    return image == 0 ? 0 : ends_[image - 1];
  }
  static std::optional<folder_index> from(std::optional<index_sections> found, std::size_t images);

  std::optional<index_sections> sections_;
  std::span<const std::uint64_t> ends_;
  index_tail places_;
};

/// Where the index of a class folder may lie: index_paths of the class's folder.
std::vector<std::string> folder_index_paths(const folder_files& files, const class_folder& folder,
                                            const folder_options& options);

/// A class folder's stored index, if there is one of these images.
std::optional<folder_index> open_folder_index(const folder_files& files, const class_folder& folder,
                                              const folder_options& options);

} // namespace leat
