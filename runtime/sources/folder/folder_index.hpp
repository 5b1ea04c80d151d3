#pragma once

#include "runtime/sources/folder/folder_files.hpp"
#include "runtime/sources/index_sections.hpp"
#include "runtime/sources/indexed_places.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// The places of a class folder's JPEGs (indexed_places). A view of index bytes, which it keeps
/// alive. A query costs O(1), and adopting one pass over all bytes except the places.
class folder_index {
public:
  /// Takes bytes that `write` made for exactly these images, none of them written since. Empty for
  /// all others, and for damaged ones; no byte of them is trusted.
  static std::optional<folder_index> adopt(const index_bytes& bytes,
                                           std::span<const image_file> images);
  /// The bytes of an index.
  static std::vector<std::byte> write(std::span<const image_file> images,
                                      const surveyed_places& places);

  /// The index stored in a file; empty if it is not one of these images.
  static std::optional<folder_index> load(const std::string& path,
                                          std::span<const image_file> images);

  /// By the numbers of images in the class. Lives as long as this index.
  const indexed_places& places() const noexcept { return places_; }

private:
  static std::optional<folder_index> from(std::optional<index_sections> found, std::size_t images);

  std::optional<index_sections> sections_;
  indexed_places places_;
};

/// Where the index of a class folder may lie: index_paths of the class's folder.
std::vector<std::string> folder_index_paths(const folder_files& files, const class_folder& folder,
                                            const folder_options& options);

/// A class folder's stored index, if there is one of these images; preferably one that is complete.
std::optional<folder_index> open_folder_index(const folder_files& files, const class_folder& folder,
                                              const folder_options& options);

} // namespace leat
