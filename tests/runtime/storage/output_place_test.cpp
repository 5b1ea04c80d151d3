#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/output_place.hpp"
#include "runtime/storage/whole_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/temporary_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace leat::output_place_test {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& file) {
  return read_whole_file(file, 1000, "test");
}

std::size_t entries(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{directory}, fs::directory_iterator{}));
}

TEST_CASE("output: a file is made, or replaced as a whole with its mode") {
  const test::temporary_directory at;
  const auto file = at / "out";
  write_output(file, "first", "--x");
  REQUIRE(content(file) == "first");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const auto old = file_descriptor::open(file);
  write_output(file, "second", "--x");
  REQUIRE(content(file) == "second");
  REQUIRE(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  // A reader that has the old one open still reads it.
  std::string bytes(5, ' ');
  REQUIRE(::read(old.get(), bytes.data(), 5) == 5);
  REQUIRE(bytes == "first");
  REQUIRE(entries(at.path()) == 1);
}

TEST_CASE("output: what cannot be written whole leaves the old file, and no other") {
  const test::temporary_directory at;
  const auto file = at / "out";
  write_output(file, "old", "--x");
  {
    const test::file_size_limit full{10};
    check_error([&] { write_output(file, std::string(100, 'x'), "--x"); },
                {.code = errc::io, .file = file});
  }
  REQUIRE(content(file) == "old");
  REQUIRE(entries(at.path()) == 1);
}

TEST_CASE("output: links stay, what they lead to is written, also where it is not there yet") {
  const test::temporary_directory at;
  fs::create_directory(at / "far");
  fs::create_symlink("far/file", at / "link");
  fs::create_symlink(at / "link", at / "to-link");
  write_output(at / "to-link", "a", "--x");
  REQUIRE(content(at / "far/file") == "a");
  fs::permissions(at / "far/file", fs::perms::owner_all);
  write_output(at / "to-link", "b", "--x");
  REQUIRE(content(at / "far/file") == "b");
  REQUIRE(fs::status(at / "far/file").permissions() == fs::perms::owner_all);
  REQUIRE(entries(at / "far") == 1);
  REQUIRE(fs::is_symlink(at / "link"));
  REQUIRE(fs::is_symlink(at / "to-link"));
  fs::create_symlink("circle", at / "circle");
  REQUIRE(code_of([&] { write_output(at / "circle", "c", "--x"); }) == errc::io);
  REQUIRE(fs::is_symlink(at / "circle"));
}

TEST_CASE("output: a FIFO and devices are written to and stay what they are") {
  const test::temporary_directory at;
  const auto fifo = at / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const file_descriptor reader{::open(fifo.c_str(), O_RDWR | O_CLOEXEC)};
  write_output(fifo, "through", "--x");
  std::string bytes(7, ' ');
  REQUIRE(::read(reader.get(), bytes.data(), 7) == 7);
  REQUIRE(bytes == "through");
  REQUIRE(fs::is_fifo(fifo));
  fs::create_symlink("/dev/full", at / "full");
  REQUIRE(code_of([&] { write_output(at / "full", "x", "--x"); }) == errc::io);
  REQUIRE(fs::is_character_file("/dev/full"));
  write_output("/dev/null", "x", "--x");
  REQUIRE(fs::is_character_file("/dev/null"));
  REQUIRE(entries(at.path()) == 2);
}

TEST_CASE("output: descriptors of this process are shared") {
  const test::temporary_directory at;
  const auto file = at / "out";
  const file_descriptor mine{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  REQUIRE(::write(mine.get(), "a", 1) == 1);
  fs::create_symlink("/dev/fd/" + std::to_string(mine.get()), at / "link");
  write_output(at / "link", "b", "--x");
  write_output("/proc/self/fd/" + std::to_string(mine.get()), "c", "--x");
  REQUIRE(::write(mine.get(), "d", 1) == 1);
  REQUIRE(content(file) == "abcd");
  REQUIRE(place_of_output("/dev/stdout", "--x").descriptor == 1);
  // What was printed before is still there.
  const auto printed = at / "printed";
  std::fflush(stdout);
  const file_descriptor before{::dup(STDOUT_FILENO)};
  {
    const file_descriptor instead{::open(printed.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    ::dup2(instead.get(), STDOUT_FILENO);
    std::fputs("a", stdout);
    write_output("/dev/stdout", "b", "--x");
    std::fputs("c", stdout);
    std::fflush(stdout);
    ::dup2(before.get(), STDOUT_FILENO);
  }
  REQUIRE(content(printed) == "abc");
}

TEST_CASE("output: what cannot be written is known beforehand") {
  const test::temporary_directory at;
  CHECK_FALSE(code_of([&] { check_output(at / "new", "--x"); }));
  CHECK_FALSE(code_of([] { check_output("/dev/stdout", "--x"); }));
  CHECK_FALSE(code_of([] { check_output("/dev/null", "--x"); }));
  CHECK(code_of([&] { check_output(at.path(), "--x"); }) == errc::invalid_argument);
  CHECK(code_of([&] { check_output(at / "none/file", "--x"); }) == errc::io);
  CHECK(entries(at.path()) == 0);
}

} // namespace
} // namespace leat::output_place_test
