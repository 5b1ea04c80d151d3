#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// Bytes of an index. Copies share them.
struct index_bytes {
  std::shared_ptr<const std::byte> data;
  std::size_t size = 0;
};

/// Where the index of a data file or folder may lie, in order of preference: in `index_dir`, or,
/// where that is empty, beside the data and in the user's cache (`tar_options::index_dir`).
std::vector<std::string> index_paths(const std::string& data, const std::string& index_dir);

/// Of what stands between two ends that an index holds; nothing where they are none. They are read
/// at each use, and another process may have written over the file since it was checked.
inline std::span<const std::byte> part_between(std::span<const std::byte> bytes,
                                               std::uint64_t begin, std::uint64_t end) noexcept {
  if (begin > end || end > bytes.size())
    return {};
  return bytes.subspan(begin, end - begin);
}

/// Maps a stored index; nothing where it cannot be read.
std::optional<index_bytes> map_index(const std::string& path);

/// Puts an index in the first of these places that takes it, at once, so that no reader ever sees
/// half of it, not even behind a crash of the machine. False where none does.
bool store_index(const std::vector<std::string>& paths, std::span<const std::byte> bytes);

} // namespace leat
