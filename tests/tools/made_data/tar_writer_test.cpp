#include "tests/support/catch.hpp"

#include <leat/error.hpp>

#include "tools/made_data/tar_writer.hpp"
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace leat::tar_writer_test {
namespace {

namespace fs = std::filesystem;

/// A fresh directory that is removed when the test ends.
struct scratch_directory {
  fs::path path = fs::temp_directory_path() / ("leat-tar-writer-" + std::to_string(getpid()));
  scratch_directory() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~scratch_directory() { fs::remove_all(path); }
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a tar file holds header, content and padding of each member, then two empty blocks") {
  const scratch_directory scratch;
  const fs::path path = scratch.path / "a.tar";
  leat::tar_writer tar(path);
  tar.add("00000001.cls", "7");
  tar.add("00000001.txt", std::string(513, 'x'));
  tar.finish();
  const std::string bytes = contents(path);
  REQUIRE(bytes.size() == 512 * (1 + 1 + 1 + 2 + 2));
  CHECK(bytes.substr(0, 13) == std::string("00000001.cls") + '\0');
  CHECK(bytes.substr(124, 12) == std::string("00000000001") + '\0');
  CHECK(bytes.substr(136, 12) == std::string("00000000000") + '\0');
  CHECK(bytes.substr(257, 8) == std::string("ustar\00000", 8));
  CHECK(bytes.substr(512, 2) == std::string("7\0", 2));
  CHECK(bytes.substr(1024 + 124, 11) == "00000001001"); // 513 in octal
  CHECK(bytes.substr(1536, 513) == std::string(513, 'x'));
  CHECK(bytes.substr(bytes.size() - 1024) == std::string(1024, '\0'));
}

TEST_CASE("the tar program lists and checks what the writer wrote") {
  const scratch_directory scratch;
  const fs::path path = scratch.path / "a.tar";
  leat::tar_writer tar(path);
  tar.add("empty", "");
  tar.add("a whole block", std::string(512, 'b'));
  tar.add(std::string(100, 'n'), "content");
  tar.finish();
  const fs::path list = scratch.path / "list";
  const std::string command =
      "cd '" + scratch.path.string() + "' && tar -tf a.tar > list 2>&1 && tar -xf a.tar";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(contents(list) == "empty\na whole block\n" + std::string(100, 'n') + "\n");
  CHECK(contents(scratch.path / std::string(100, 'n')) == "content");
}

TEST_CASE(
    "an unfinished tar file leaves nothing behind, and the file it was to replace as it was") {
  const scratch_directory scratch;
  const fs::path path = scratch.path / "a.tar";
  std::ofstream(path) << "older";
  {
    leat::tar_writer tar(path);
    tar.add("a", "b");
  }
  CHECK(contents(path) == "older");
  CHECK(std::distance(fs::directory_iterator(scratch.path), {}) == 1);
}

TEST_CASE("a name that does not fit a tar header is refused") {
  const scratch_directory scratch;
  leat::tar_writer tar(scratch.path / "a.tar");
  CHECK_THROWS_AS(tar.add("", "x"), leat::error);
  CHECK_THROWS_AS(tar.add(std::string(101, 'n'), "x"), leat::error);
}

TEST_CASE("a tar file in a directory that does not exist is an io error that names the file") {
  try {
    const leat::tar_writer tar("/does/not/exist/a.tar");
    FAIL("opened");
  } catch (const leat::error& e) {
    CHECK(e.code() == leat::errc::io);
    CHECK(e.details().file.find("/does/not/exist/a.tar") == 0);
    CHECK(e.details().got == "No such file or directory");
  }
}

TEST_CASE("a full disk is an io error that names the offset") {
  if (!fs::exists("/dev/full"))
    return;
  const scratch_directory scratch;
  fs::create_symlink("/dev/full", scratch.path / "a.tar.unfinished");
  leat::tar_writer tar(scratch.path / "a.tar");
  try {
    tar.add("big", std::string(1 << 20, 'x'));
    tar.finish();
    FAIL("written");
  } catch (const leat::error& e) {
    CHECK(e.code() == leat::errc::io);
    CHECK(e.details().offset.has_value());
    CHECK(e.details().got == "No space left on device");
  }
  CHECK_FALSE(fs::exists(scratch.path / "a.tar"));
}

} // namespace

} // namespace leat::tar_writer_test
