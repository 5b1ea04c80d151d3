#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The bytes of an index, or the first of them. Copies share them.
struct index_bytes {
  std::shared_ptr<const std::byte> data;
  std::size_t size = 0;
  /// If only the first bytes are held: the file, and the size of the whole.
  std::string path = {};
  std::uint64_t whole = 0;

  std::uint64_t all() const noexcept { return path.empty() ? size : whole; }
};

/// A part of an index that is read at each use: from memory, or from the file, which another
/// process may truncate, remove or overwrite. The owner of one in memory keeps that memory alive.
class index_tail {
public:
  index_tail() = default;
  /// These bytes of an index, which are inside it.
  index_tail(const index_bytes& of, std::uint64_t begin, std::uint64_t size);

  std::uint64_t size() const noexcept { return size_; }
  /// Fills `into` with the bytes at `at`; false if not all of them are there.
  bool read(std::uint64_t at, std::span<std::byte> into) const;

private:
  const std::byte* held_ = nullptr;
  std::string path_;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
};

inline constexpr std::string_view index_suffix = ".leat-index";
inline constexpr std::string_view manifest_suffix = ".leat-manifest";

/// The name of an index in a directory that has those of data from anywhere.
std::string index_file_name(const std::string& data);

/// Where on this machine the index of a data file or folder may lie, in order of preference: in
/// `index_dir`, or, if that is empty or names something else than a directory of this machine,
/// beside the data, if they are on this machine, and in the user's cache
/// (`tar_options::index_dir`).
std::vector<std::string> index_paths(const std::string& data, const std::string& index_dir);

/// How many of its first bytes are to be held, by the header of an index of `all` bytes; 0: it is
/// not an index.
using held_bytes = std::uint64_t (*)(std::span<const std::byte> header, std::uint64_t all);

/// Reads the beginning of a stored index; nothing if it cannot be read, or `held` returns 0.
std::optional<index_bytes> read_index(const std::string& path, std::size_t header_bytes,
                                      held_bytes held);

/// Puts an index in the first of these places that accepts it, at once, so that no reader ever sees
/// half of it. It is not forced to the disk, which would take most of the time of a new shard: an
/// index that a crash of the machine damages fails its checksums, and is made again. False if no
/// place accepts it.
bool store_index(const std::vector<std::string>& paths, std::span<const std::byte> bytes);

/// Removes indexes that turned out to be of other data; false if one is left.
bool remove_indexes(const std::vector<std::string>& paths) noexcept;

} // namespace leat
