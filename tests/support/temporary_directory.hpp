#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace leat::test {

/// A new directory that is removed, with everything in it, when the test ends.
class temporary_directory {
public:
  temporary_directory() {
    auto name = (std::filesystem::temp_directory_path() / "leat-test-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

} // namespace leat::test
