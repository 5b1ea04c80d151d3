#include "runtime/storage/open_files.hpp"
#include "runtime/storage/whole_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/special_file.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

namespace leat::plain_files_test {
namespace {

using namespace leat::test;

TEST_CASE("plain files: anything else is refused at once, and called what it is") {
  temporary_directory at;
  for (const auto kind :
       {special_kind::pipe, special_kind::socket, special_kind::device, special_kind::directory}) {
    CAPTURE(to_string(kind));
    const auto path = at / to_string(kind);
    make_special(kind, path);
    const expected_error want{
        .code = errc::invalid_argument, .file = path, .got_has = to_string(kind)};
    check_error([&] { file_descriptor::open(path); }, want);
    check_error([&] { open_input(path); }, want);
    const file_descriptor opened{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (opened)
      check_error([&] { (void)version_of(opened, path); }, want);
  }
}

TEST_CASE("plain files: they are read as ever, and give their version") {
  temporary_directory at;
  tar_writer::write(at / "x", "0123456789");
  object_version found;
  const auto file = file_descriptor::open(at / "x", &found);
  CHECK(found == version_of(file, at / "x"));
  CHECK(found.size == 10);
  CHECK(code_of([&] { file_descriptor::open(at / "none"); }) == errc::not_found);
}

TEST_CASE("plain files: where a file system would not wait in a read, it is told to") {
  temporary_directory at;
  tar_writer::write(at / "x", "0123456789");
  const auto file = file_descriptor::open(at / "x");
  std::array<std::byte, 10> into{};
  const auto n =
      read_at(file, at / "x", 0, into, [](int fd, void* to, std::size_t size, off_t from) {
        if ((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
          return ::pread(fd, to, size, from);
        errno = EAGAIN;
        return ssize_t{-1};
      });
  CHECK(n == 10);
}

TEST_CASE("plain files: an input may be a descriptor of this process") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  REQUIRE(::write(ends[1], "text", 4) == 4);
  ::close(ends[1]);
  temporary_directory at;
  std::filesystem::create_symlink("/dev/fd/" + std::to_string(ends[0]), at / "link");
  CHECK(read_whole_file(at / "link", 100, "test") == "text");
  CHECK(read_whole_file("/proc/self/fd/" + std::to_string(ends[0]), 100, "test").empty());
  ::close(ends[0]);
  CHECK(code_of([&] { read_whole_file(at / "link", 100, "test"); }) == errc::io);
}

TEST_CASE("plain files: one that another process has leased is opened when that gives it back") {
  temporary_directory at;
  tar_writer::write(at / "x", "text");
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const auto child = ::fork();
  if (child == 0) {
    std::signal(SIGIO, SIG_DFL); // ends the process, which gives back the lease
    const int file = ::open((at / "x").c_str(), O_RDWR | O_CLOEXEC);
    const char has_lease = ::fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
    (void)!::write(ends[1], &has_lease, 1);
    for (;;)
      ::pause();
  }
  char has_lease = 'n';
  REQUIRE(::read(ends[0], &has_lease, 1) == 1);
  if (has_lease == 'y')
    CHECK(read_whole_file(at / "x", 100, "test") == "text");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int x : ends)
    ::close(x);
}

} // namespace
} // namespace leat::plain_files_test
