#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace leat::test {

inline std::string content_of(const std::string& file) {
  std::ostringstream all;
  all << std::ifstream{file, std::ios::binary}.rdbuf();
  return std::move(all).str();
}

/// Over what is there: file systems that tell their disk of each block that a truncation frees take
/// milliseconds for it, and some tests write a file ten thousand times.
inline void write_content(const std::string& file, std::string_view bytes) {
  if (!std::filesystem::is_regular_file(file)) { // new, or a pipe
    std::ofstream{file, std::ios::binary} << bytes;
    return;
  }
  if (std::filesystem::file_size(file) > bytes.size())
    std::filesystem::resize_file(file, bytes.size());
  std::fstream{file, std::ios::binary | std::ios::in | std::ios::out} << bytes;
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
