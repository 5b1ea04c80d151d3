// Which cache is chosen, and who shares one.

#include "runtime/storage/cache/cache_settings.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"
#include "tests/support/web_files.hpp"

#include <filesystem>
#include <map>

namespace leat::cache_choice_test {
namespace {

using namespace leat::test;

cache_settings read(const std::map<std::string, std::string>& variables,
                    const std::string& directory, std::uint64_t bytes) {
  remote_options chosen;
  chosen.cache = directory;
  chosen.cache_bytes = bytes;
  return read_cache_settings(
      [&](const char* name) {
        const auto at = variables.find(name);
        return at == variables.end() ? std::string{} : at->second;
      },
      chosen);
}

TEST_CASE("cache settings: what is chosen counts before the environment") {
  const std::map<std::string, std::string> variables{{"LEAT_CACHE", "/of/all"},
                                                     {"LEAT_CACHE_BYTES", "5000000"}};
  CHECK(read(variables, "", 0).directory == "/of/all");
  CHECK(read(variables, "", 0).limit == 5'000'000);
  CHECK(read(variables, "/mine", 0).directory == "/mine");
  CHECK(read(variables, "/mine", 0).limit == 5'000'000);
  CHECK(read(variables, "", 6'000'000).directory == "/of/all");
  CHECK(read(variables, "", 6'000'000).limit == 6'000'000);
  CHECK(read({}, "", 0).directory.empty());
}

TEST_CASE("cache settings: a directory has one spelling") {
  const auto here = std::filesystem::current_path().native();
  for (const auto* x : {"a/b", "./a/b/", "a/../a/b", "a//b//"})
    CHECK(read({}, x, 0).directory == here + "/a/b");
  CHECK(read({}, "/", 0).directory == "/");
}

TEST_CASE("cache settings: what cannot be a cache is refused") {
  check_error([] { read({}, "s3://bucket/cache", 0); },
              {.code = errc::invalid_argument, .stage = "cache", .got_has = "s3://bucket/cache"});
  check_error(
      [] {
        read({{"LEAT_CACHE", "https://h/x"}}, "", 0);
      },
      {.code = errc::invalid_argument, .stage = "cache", .got_has = "https://h/x"});
  check_error([] { read({}, "", 5'000'000); },
              {.code = errc::invalid_argument, .stage = "cache", .got_has = "without"});
  check_error([] { read({}, "/x", 1'000'000); },
              {.code = errc::invalid_argument, .stage = "cache", .got_has = "1000000"});
  check_error(
      [] {
        read({{"LEAT_CACHE_BYTES", "7"}}, "/x", 0);
      },
      {.code = errc::invalid_argument, .stage = "cache", .got_has = "7"});
}

TEST_CASE("transfer pool: who names one directory shares its cache, and others have theirs") {
  const temporary_directory one;
  const temporary_directory two;
  transfer_pool pool{impatient()};
  const auto first = pool.open({.directory = one.path()});
  CHECK(pool.open({.directory = one.path(), .limit = 5'000'000}) == first);
  CHECK(pool.open({.directory = two.path()}) != first);
  CHECK(pool.open(cache_settings{}) == pool.open());
  CHECK(pool.open() != first);
  CHECK(&pool.open()->counts() == &first->counts());
  check_error([&] { pool.open({.directory = one.path(), .limit = 9}); },
              {.code = errc::invalid_argument, .stage = "cache", .got_has = "9"});
  CHECK(pool.open({.directory = one.path()}) == first);
}

TEST_CASE("transfer pool: a directory that cannot be made is done without, and told once") {
  const temporary_directory at;
  write_content(at / "file", "mine");
  transfer_pool pool{impatient()};
  heard_notices heard;
  const cache_settings wrong{.directory = at / "file"};
  CHECK(pool.open(wrong) == pool.open());
  CHECK(pool.open(wrong) == pool.open());
  CHECK(heard.texts().size() == 1);
}

} // namespace
} // namespace leat::cache_choice_test
