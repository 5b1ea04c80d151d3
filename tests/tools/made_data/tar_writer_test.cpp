#include "tests/support/other_program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include "tools/made_data/tar_writer.hpp"

namespace leat::tar_writer_test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a tar file holds header, content and padding of each member, then two empty blocks") {
  const test::temporary_directory scratch;
  const auto path = scratch / "a.tar";
  tar_writer tar(path);
  tar.add("00000001.cls", "7");
  tar.add("00000001.txt", std::string(513, 'x'));
  tar.finish();
  const std::string bytes = read_file(path);
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
  CHECK(read_file(list) == "empty\na whole block\n" + std::string(100, 'n') + "\n");
  CHECK(read_file(scratch / std::string(100, 'n')) == "content");
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
  CHECK(read_file(path) == "older");
  CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("a name that does not fit a tar header is refused") {
  const test::temporary_directory scratch;
  tar_writer tar(scratch / "a.tar");
  CHECK_THROWS_AS(tar.add("", "x"), error);
  CHECK_THROWS_AS(tar.add(std::string(101, 'n'), "x"), error);
}

TEST_CASE("a tar file in a directory that does not exist is an io error that names the file") {
  const auto problem =
      check_refusal([] { const tar_writer tar("/does/not/exist/a.tar"); }, errc::io);
  CHECK(problem.details().file.starts_with("/does/not/exist/a.tar"));
  CHECK(problem.details().got == "No such file or directory");
}

TEST_CASE("a full disk is an io error that names the offset") {
  if (!fs::exists("/dev/full"))
    return;
  const test::temporary_directory scratch;
  fs::create_symlink("/dev/full", scratch / "a.tar.unfinished");
  tar_writer tar(scratch / "a.tar");
  const auto fill = [&] {
    tar.add("big", std::string(1 << 20, 'x'));
    tar.finish();
  };
  const auto problem = check_refusal(fill, errc::io);
  CHECK(problem.details().offset.has_value());
  CHECK(problem.details().got == "No space left on device");
  CHECK_FALSE(fs::exists(scratch / "a.tar"));
}

} // namespace

} // namespace leat::tar_writer_test
