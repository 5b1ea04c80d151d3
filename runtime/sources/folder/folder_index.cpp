#include "runtime/sources/folder/folder_index.hpp"

#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace leat {

// The file: header, the end of each image's places, and the places. Numbers are little-endian. A
// new layout gets a new magic; old files then count as damaged and are replaced.

struct folder_index::header {
  std::array<char, 8> magic;
  /// XXH3-64 of all bytes after it except the places, which are checked one by one when they are
  /// used.
  std::uint64_t checksum;
  /// Digest of the images' paths, sizes and times.
  hash128 listing;
  std::uint64_t images;
  std::uint64_t place_bytes;
};

namespace {

constexpr std::array<char, 8> folder_magic{'l', 'e', 'a', 't', 'd', 'i', 'r', '2'};
constexpr std::size_t folder_checked_from = 16;

hash128 listing_of(std::span<const image_file> images) {
  hash_stream hash;
  for (const auto& x : images) {
    hash.add(x.path);
    hash.add(x.bytes);
    hash.add(static_cast<std::uint64_t>(x.mtime_ns));
  }
  return hash.digest128();
}

} // namespace

/// Everything except the places, which are read one by one; 0 if this is not an index.
std::uint64_t folder_index::held_bytes(std::span<const std::byte> bytes, std::uint64_t all) {
  header h;
  if (bytes.size() < sizeof h)
    return 0;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != folder_magic || h.images > all || h.place_bytes > all)
    return 0;
  const auto held = sizeof h + h.images * sizeof(std::uint64_t);
  return held + h.place_bytes == all ? held : 0;
}

std::optional<folder_index> folder_index::load(const std::string& path,
                                               std::span<const image_file> images) {
  const auto bytes = read_index(path, sizeof(header), held_bytes);
  return bytes ? adopt(*bytes, images) : std::nullopt;
}

std::optional<folder_index> folder_index::adopt(const index_bytes& bytes,
                                                std::span<const image_file> images) {
  const auto held = held_bytes({bytes.data.get(), bytes.size}, bytes.all());
  if (held == 0 || held > bytes.size)
    return {};
  header h;
  std::memcpy(&h, bytes.data.get(), sizeof h);
  if (h.images != images.size() || h.listing != listing_of(images)
      || xxh3_64({bytes.data.get() + folder_checked_from, held - folder_checked_from})
             != h.checksum)
    return {};
  folder_index x;
  x.bytes_ = bytes;
  x.ends_ = {reinterpret_cast<const std::uint64_t*>(bytes.data.get() + sizeof h), images.size()};
  x.places_ = {bytes, held};
  if (!std::is_sorted(x.ends_.begin(), x.ends_.end())
      || (x.ends_.empty() ? 0 : x.ends_.back()) != h.place_bytes)
    return {};
  return x;
}

std::vector<std::byte> folder_index::write(std::span<const image_file> images,
                                           std::span<const std::vector<std::byte>> places) {
  header h{.magic = folder_magic,
           .checksum = 0,
           .listing = listing_of(images),
           .images = images.size(),
           .place_bytes = 0};
  std::vector<std::uint64_t> ends;
  ends.reserve(places.size());
  for (const auto& x : places)
    ends.push_back(h.place_bytes += x.size());
  const auto checked = sizeof h + std::span{ends}.size_bytes();
  std::vector<std::byte> bytes(checked);
  bytes.reserve(checked + h.place_bytes);
  std::memcpy(bytes.data(), &h, sizeof h);
  const auto raw = std::as_bytes(std::span{ends});
  std::copy(raw.begin(), raw.end(), bytes.begin() + sizeof h);
  h.checksum = xxh3_64(std::span{bytes}.subspan(folder_checked_from));
  std::memcpy(bytes.data(), &h, sizeof h);
  for (const auto& x : places)
    bytes.insert(bytes.end(), x.begin(), x.end());
  return bytes;
}

std::vector<std::string> folder_index_paths(const folder_files& files, const class_folder& folder,
                                            const folder_options& options) {
  return index_paths(files.directory + "/" + folder.name, options.index_dir);
}

std::optional<folder_index> open_folder_index(const folder_files& files, const class_folder& folder,
                                              const folder_options& options) {
  for (const auto& path : folder_index_paths(files, folder, options))
    if (auto x = folder_index::load(path, files.of(folder)))
      return x;
  return {};
}

} // namespace leat
