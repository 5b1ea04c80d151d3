#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace leat::test {

inline std::string content_of(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_content(const std::string& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary} << bytes;
}

inline std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& x : std::filesystem::directory_iterator{directory})
    names.insert(x.path().filename().string());
  return names;
}

/// Cuts a file in half, as a disk that lied about fsync would.
inline void tear(const std::string& file) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
}

} // namespace leat::test
