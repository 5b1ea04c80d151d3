#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/whole_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace leat::durable_file_test {
namespace {

namespace fs = std::filesystem;

/// A directory, and a file outside it that an attacker wants to have overwritten.
class directory_with_victim {
public:
  directory_with_victim() {
    fs::create_directory(at_ / "ck");
    put("victim", "precious");
  }

  std::string path(const std::string& name) const { return at_ / name; }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream{at_ / name, std::ios::binary} << text;
  }
  std::string text(const std::string& name) const {
    return read_whole_file(at_ / name, 1 << 20, "test");
  }
  std::set<std::string> in_directory() const {
    std::set<std::string> all;
    for (const auto& x : fs::directory_iterator{at_ / "ck"})
      all.insert(x.path().filename().string());
    return all;
  }

private:
  test::temporary_directory at_;
};

TEST_CASE_METHOD(directory_with_victim,
                 "durable files: a link in place of a file or of its temporary one is replaced") {
  fs::create_symlink("../victim", path("ck/a.tmp"));
  fs::create_symlink("../victim", path("ck/a"));
  write_durably(path("ck/a"), "bytes");
  CHECK(text("victim") == "precious");
  CHECK(text("ck/a") == "bytes");
  CHECK_FALSE(fs::is_symlink(path("ck/a")));
  CHECK(in_directory() == std::set<std::string>{"a"});

  fs::create_hard_link(path("victim"), path("ck/a.tmp"));
  write_durably(path("ck/a"), "others");
  CHECK(text("victim") == "precious");
  CHECK(text("ck/a") == "others");
}

TEST_CASE_METHOD(directory_with_victim, "durable files: a link to nothing makes no file there") {
  fs::create_symlink("../nothing", path("ck/a.tmp"));
  write_durably(path("ck/a"), "bytes");
  CHECK_FALSE(fs::exists(path("nothing")));
  CHECK(text("ck/a") == "bytes");
}

TEST_CASE_METHOD(directory_with_victim, "durable files: the directory itself may be a link") {
  fs::create_directory_symlink("ck", path("other"));
  write_durably(path("other/a"), "bytes");
  CHECK(text("ck/a") == "bytes");
}

TEST_CASE_METHOD(
    directory_with_victim,
    "durable files: what a process that died left is written anew, with the new mode") {
  put("ck/a.tmp", "half of a long text");
  fs::permissions(path("ck/a.tmp"), fs::perms::all);
  write_durably(path("ck/a"), "bytes", 0600);
  CHECK(text("ck/a") == "bytes");
  CHECK(fs::status(path("ck/a")).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE_METHOD(directory_with_victim, "durable files: a folder of that name is an error") {
  fs::create_directory(path("ck/a.tmp"));
  check_error([&] { write_durably(path("ck/a"), "bytes"); },
              {.code = errc::io, .file = path("ck/a.tmp")});
}

TEST_CASE_METHOD(directory_with_victim, "durable files: temporary names are unlike each other") {
  CHECK(temporary_name(path("a")) != temporary_name(path("a")));
  CHECK(temporary_name(path("a")).string().ends_with(temporary_suffix));
}

} // namespace
} // namespace leat::durable_file_test
