#include "runtime/storage/file_set.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <sys/stat.h>

#include <filesystem>

namespace leat::file_set_test {

using namespace leat::test;

namespace {

using texts = std::vector<std::string>;

void touch(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
  tar_writer::write(path, "x");
}

std::optional<errc> code_of(const texts& patterns) {
  return leat::code_of([&] { find_files(patterns, "test"); });
}

} // namespace

TEST_CASE("braces count with zeros kept, up and down") {
  CHECK(expand_braces("a{08..11}b") == texts{"a08b", "a09b", "a10b", "a11b"});
  CHECK(expand_braces("{8..11}") == texts{"8", "9", "10", "11"});
  CHECK(expand_braces("{2..0}") == texts{"2", "1", "0"});
  CHECK(expand_braces("{1..003}") == texts{"001", "002", "003"});
  CHECK(expand_braces("{0..0}") == texts{"0"});
  CHECK(expand_braces("{000000..000099}.tar").size() == 100);
  CHECK(expand_braces("{000000..000099}.tar").back() == "000099.tar");
  // The largest number must not overflow.
  CHECK(expand_braces("{18446744073709551614..18446744073709551615}").size() == 2);
}

TEST_CASE("braces list, combine and nest, the last varying fastest") {
  CHECK(expand_braces("{a,b}{1..2}") == texts{"a1", "a2", "b1", "b2"});
  CHECK(expand_braces("{a,{b,c}x,}z") == texts{"az", "bxz", "cxz", "z"});
  CHECK(expand_braces("{x{0..1},y}") == texts{"x0", "x1", "y"});
}

TEST_CASE("braces that are neither list nor range stay") {
  for (std::string text : {"plain", "{abc}", "{", "}", "a{b", "{1..x}", "{}", "{1..}", "{..}"})
    CHECK(expand_braces(text) == texts{text});
  CHECK(expand_braces("{x{1,2}}") == texts{"{x1}", "{x2}"});
  CHECK(expand_braces("{a{1,2}") == texts{"{a1", "{a2"});
}

TEST_CASE("too many names are refused") {
  CHECK_THROWS_AS(expand_braces("{0..99999999999}"), error);
  CHECK_THROWS_AS(expand_braces("{0..9999}{0..9999}"), error);
}

TEST_CASE("files stand in the order given, globs bytewise") {
  temporary_directory dir;
  for (auto name : {"b.tar", "B.tar", "a.tar", "a-1.tar", "a.tar.leat-index", ".hidden.tar"})
    touch(dir / name);
  std::filesystem::create_directory(dir / "c.tar");
  CHECK(find_files({dir / "*"}, "test").names == texts{"B.tar", "a-1.tar", "a.tar", "b.tar"});
  CHECK(find_files({dir / "{b,a}.tar", dir / "[B].ta?"}, "test").names
        == texts{"b.tar", "a.tar", "B.tar"});
}

TEST_CASE("what a pattern matches that is no file is counted, and named by name") {
  temporary_directory dir;
  for (auto name : {"a.tar", "a.tar.leat-index", ".hidden.tar"})
    touch(dir / name);
  for (auto name : {"d.tar", "c.tar"})
    std::filesystem::create_directory(dir / name);
  std::filesystem::create_symlink("a.tar", dir / "b.tar");
  std::filesystem::create_symlink("gone", dir / "z.tar");
  std::filesystem::create_symlink("round.tar", dir / "round.tar");
  std::filesystem::create_symlink("c.tar", dir / "folder.tar");
  REQUIRE(::mkfifo((dir / "pipe.tar").c_str(), 0600) == 0);
  const auto found = find_files({dir / "*"}, "test");
  CHECK(found.names == texts{"a.tar", "b.tar"});
  const std::vector<passed_over_entry> want{{passed_over_reason::special, 1, dir / "pipe.tar"},
                                            {passed_over_reason::lost_link, 2, dir / "round.tar"},
                                            {passed_over_reason::folder, 3, dir / "c.tar"}};
  CHECK(found.others.entries() == want);
  CHECK(find_files({dir / "{a,b}.tar"}, "test").others == passed_over{});
}

TEST_CASE("a name with glob characters that exists is that file") {
  temporary_directory dir;
  touch(dir / "[a].tar");
  touch(dir / "a.tar");
  CHECK(find_files({dir / "[a].tar"}, "test").names == texts{"[a].tar"});
}

TEST_CASE("relative names begin below the longest common directory") {
  temporary_directory dir;
  for (auto name : {"one/ab/x.tar", "one/ac/x.tar", "one/ab/y.tar"})
    touch(dir / name);
  CHECK(find_files({dir / "one/a{b,c}/x.tar"}, "test").names == texts{"ab/x.tar", "ac/x.tar"});
  CHECK(find_files({dir / "one/ab/*"}, "test").names == texts{"x.tar", "y.tar"});
  CHECK(find_files({dir / "one/./ac/../ab/x.tar"}, "test").names == texts{"x.tar"});
  CHECK(find_files({dir / "one/./ac/../ab/x.tar"}, "test").paths == texts{dir / "one/ab/x.tar"});
}

TEST_CASE("a pattern without a file is named") {
  temporary_directory dir;
  touch(dir / "0.tar");
  CHECK(code_of({dir / "no*"}) == errc::not_found);
  CHECK(code_of({dir.path()}) == errc::invalid_argument);
  CHECK(code_of({}) == errc::invalid_argument);
  check_error([&] { find_files({dir / "{0..1}.tar"}, "test"); },
              {.code = errc::not_found,
               .file = dir / "1.tar",
               .needed = "at least one file",
               .got_has = "no file that matches"});
  touch(dir / "data [v2]/0.tar");
  check_error([&] { find_files({dir / "data [v2]/*.tar"}, "test"); },
              {.code = errc::not_found, .needed_has = "\"[[]\""});
  CHECK(find_files({dir / "data [[]v2]/*.tar"}, "test").paths.size() == 1);
}

TEST_CASE("the same file twice is refused") {
  temporary_directory dir;
  touch(dir / "a.tar");
  CHECK(code_of({dir / "a.tar", dir / "*.tar"}) == errc::invalid_argument);
  CHECK(code_of({dir / "a.tar", dir / "./a.tar"}) == errc::invalid_argument);
}

} // namespace leat::file_set_test
