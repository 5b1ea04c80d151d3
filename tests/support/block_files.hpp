#pragma once

#include "runtime/storage/cache/cache_directory.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace leat::test {

/// Where a cache in this directory has its files.
inline std::string own_folder_of(const std::string& directory) {
  return directory + "/leat-cache-1";
}

/// The paths of all blocks of a cache, in order.
inline std::vector<std::string> block_files(const std::string& directory,
                                            const std::string& suffix = ".block") {
  std::vector<std::string> found;
  for (const auto& x : std::filesystem::recursive_directory_iterator{own_folder_of(directory)})
    if (x.path().native().ends_with(suffix))
      found.push_back(x.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The same; none if nothing was ever kept there.
inline std::vector<std::string> block_files_anywhere(const std::string& directory) {
  return std::filesystem::exists(own_folder_of(directory)) ? block_files(directory)
                                                           : std::vector<std::string>{};
}

/// A block's bytes, which the seed gives.
inline std::vector<std::byte> made_block(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random{seed};
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t next = random();
    std::memcpy(bytes.data() + at, &next, std::min(sizeof next, size - at));
  }
  return bytes;
}

/// What is stored of a range of a block.
inline std::pair<cache_directory::found, std::vector<std::byte>>
read_block(cache_directory& from, const block_id& id, std::size_t size, std::size_t begin,
           std::size_t end) {
  std::vector<std::byte> scratch;
  std::vector<std::byte> bytes;
  const auto found =
      from.read(id, size, begin, end, scratch, [&](auto x) { bytes.assign(x.begin(), x.end()); });
  return {found, std::move(bytes)};
}

/// Claims and stores a block; false if either fails.
inline bool put_block(cache_directory& into, const block_id& id,
                      const std::vector<std::byte>& bytes) {
  auto claim = into.claim(id);
  return claim.is() == block_claim::state::mine && into.space().take(bytes.size())
         && into.store(claim, id, bytes);
}

} // namespace leat::test
