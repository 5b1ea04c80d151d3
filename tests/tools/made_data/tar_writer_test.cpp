#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include "tools/made_data/tar_writer.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace leat::tar_writer_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a tar file holds header, content and padding of each member, then two empty blocks") {
  const test::temporary_directory scratch;
  const auto path = scratch / "a.tar";
  tar_writer tar(path);
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
  const test::temporary_directory scratch;
  const auto path = scratch / "a.tar";
  tar_writer tar(path);
  tar.add("empty", "");
  tar.add("a whole block", std::string(512, 'b'));
  tar.add(std::string(100, 'n'), "content");
  tar.finish();
  const auto list = scratch / "list";
  const std::string command =
      "cd '" + scratch.path() + "' && tar -tf a.tar > list 2>&1 && tar -xf a.tar";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(contents(list) == "empty\na whole block\n" + std::string(100, 'n') + "\n");
  CHECK(contents(scratch / std::string(100, 'n')) == "content");
}

TEST_CASE(
    "an unfinished tar file leaves nothing behind, and the file it was to replace as it was") {
  const test::temporary_directory scratch;
  const auto path = scratch / "a.tar";
  std::ofstream(path) << "older";
  {
    tar_writer tar(path);
    tar.add("a", "b");
  }
  CHECK(contents(path) == "older");
  CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("a name that does not fit a tar header is refused") {
  const test::temporary_directory scratch;
  tar_writer tar(scratch / "a.tar");
  CHECK_THROWS_AS(tar.add("", "x"), error);
  CHECK_THROWS_AS(tar.add(std::string(101, 'n'), "x"), error);
}

TEST_CASE("a tar file in a directory that does not exist is an io error that names the file") {
  const auto problem = problem_of([] { const tar_writer tar("/does/not/exist/a.tar"); });
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  CHECK(problem->details().file.find("/does/not/exist/a.tar") == 0);
  CHECK(problem->details().got == "No such file or directory");
}

TEST_CASE("a full disk is an io error that names the offset") {
  if (!fs::exists("/dev/full"))
    return;
  const test::temporary_directory scratch;
  fs::create_symlink("/dev/full", scratch / "a.tar.unfinished");
  tar_writer tar(scratch / "a.tar");
  const auto problem = problem_of([&] {
    tar.add("big", std::string(1 << 20, 'x'));
    tar.finish();
  });
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  CHECK(problem->details().offset.has_value());
  CHECK(problem->details().got == "No space left on device");
  CHECK_FALSE(fs::exists(scratch / "a.tar"));
}

} // namespace

} // namespace leat::tar_writer_test
