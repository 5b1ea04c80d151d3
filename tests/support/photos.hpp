#pragma once

#include "tests/support/places.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace leat::test {

/// Appends the members of a tar archive whose names end in `.jpg`, up to `limit` files in all.
inline void append_photos(const std::filesystem::path& archive, std::size_t limit,
                          std::vector<std::vector<std::byte>>& to) {
  std::ifstream file(archive, std::ios::binary);
  for (char header[512]; to.size() < limit && file.read(header, sizeof header);) {
    const std::string name(header, std::find(header, header + 100, '\0'));
    const auto size = std::strtoull(std::string(header + 124, 12).c_str(), nullptr, 8);
    std::vector<std::byte> content((size + 511) / 512 * 512);
    file.read(reinterpret_cast<char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
    content.resize(size);
    if (name.ends_with(".jpg"))
      to.push_back(std::move(content));
  }
}

/// The first `limit` real photographs, as JPEG files; none if the folder does not exist.
inline std::vector<std::vector<std::byte>> load_photos(std::size_t limit) {
  std::vector<std::filesystem::path> archives;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(photos_dir, none))
    if (entry.path().extension() == ".tar")
      archives.push_back(entry.path());
  std::sort(archives.begin(), archives.end());
  std::vector<std::vector<std::byte>> photos;
  for (const auto& archive : archives)
    append_photos(archive, limit, photos);
  return photos;
}

} // namespace leat::test
