#include "runtime/sources/folder/folder_index.hpp"

#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// A digest of the images' paths, sizes and times.
hash128 subject_of(std::span<const image_file> images) {
  hash_stream hash;
  hash.add("class folder");
  for (const auto& x : images) {
    hash.add(x.path);
    hash.add(x.bytes);
    hash.add(static_cast<std::uint64_t>(x.mtime_ns));
  }
  return hash.digest128();
}

} // namespace

std::optional<folder_index> folder_index::load(const std::string& path,
                                               std::span<const image_file> images) {
  return from(index_sections::load(path, subject_of(images)), images.size());
}

std::optional<folder_index> folder_index::adopt(const index_bytes& bytes,
                                                std::span<const image_file> images) {
  return from(index_sections::adopt(bytes, subject_of(images)), images.size());
}

std::optional<folder_index> folder_index::from(std::optional<index_sections> found,
                                               std::size_t images) {
  if (!found)
    return {};
  auto places = indexed_places::in(*found, images);
  if (!places || !places->has(place_kind::rows))
    return {};
  folder_index x;
  x.places_ = *std::move(places);
  x.sections_ = std::move(found);
  return x;
}

std::vector<std::byte> folder_index::write(std::span<const image_file> images,
                                           const surveyed_places& places) {
  index_writer to{subject_of(images)};
  indexed_places::write(to, places);
  return std::move(to).finish();
}

std::vector<std::string> folder_index_paths(const folder_files& files, const class_folder& folder,
                                            const folder_options& options) {
  return index_paths(files.directory + "/" + folder.name, options.index_dir);
}

std::optional<folder_index> open_folder_index(const folder_files& files, const class_folder& folder,
                                              const folder_options& options) {
  std::optional<folder_index> best;
  const auto is_better = [&](const folder_index& x) {
    return !best || (x.places().are_complete() && !best->places().are_complete());
  };
  for (const auto& path : folder_index_paths(files, folder, options))
    if (auto x = folder_index::load(path, files.of(folder)); x && is_better(*x))
      best = std::move(x);
  return best;
}

} // namespace leat
