#pragma once

#include "runtime/storage/local_store.hpp"
#include "runtime/storage/passed_over.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

struct image_file {
  /// Relative to the folder, with '/'.
  std::string path;
  std::uint64_t bytes = 0;
  /// Number of its class.
  std::size_t label = 0;
  /// When it was last written.
  std::int64_t mtime_ns = 0;
};

/// The images of one class: all files *.jpg, *.jpeg, *.jfif, *.png and *.webp below its folder that
/// are not hidden (is_hidden_entry).
struct class_folder {
  std::string name;
  /// Index of its first image among those of all classes.
  std::size_t first = 0;
  std::size_t images = 0;
};

/// A folder of class folders. Its objects are the images, by their index among all.
struct folder_files final : object_names {
  /// As returned by folder_name.
  std::string directory;
  /// Where it lies.
  const object_store* store = &local_store();
  /// Sorted bytewise.
  std::vector<class_folder> classes;
  /// Sorted bytewise by path, so that those of one class are adjacent.
  std::vector<image_file> images;
  passed_over others;
  /// Folders that would be classes, did they not have one of the hidden names without a dot.
  std::uint64_t hidden_classes = 0;

  std::span<const image_file> of(const class_folder& x) const noexcept {
    return std::span{images}.subspan(x.first, x.images);
  }
  std::string name(std::size_t image) const override {
    return directory + "/" + images[image].path;
  }
  std::uint64_t bytes(std::size_t image) const override { return images[image].bytes; }
};

/// `directory` without slashes at its end.
std::string folder_name(std::string directory);

/// Lists the images, in the store of that name or in another one. Throws `errc::not_found` (no
/// class, no image, no folder) and `errc::io`.
std::shared_ptr<const folder_files> list_folder(const std::string& directory);
std::shared_ptr<const folder_files> list_folder(const std::string& directory,
                                                const object_store& store);

/// See the public function.
std::vector<std::string> class_names(const std::string& directory, const store_set& in);

/// The digest of the images' paths and sizes; where there are any, of the number of hidden folders
/// that older versions took for classes: their snapshots have other labels; and of the labels that
/// are other ones because of classes without an image, which buckets do not have.
hash128 digest_of(const folder_files& x);

} // namespace leat
