#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/read_now.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>

namespace leat::object_store_test {
namespace {

namespace fs = std::filesystem;
using namespace leat::test;

/// Files of known content.
struct known_files {
  temporary_directory dir;
  std::vector<std::string> names;
  std::vector<std::string> contents;

  explicit known_files(std::mt19937_64& random) {
    for (int i = 0; i < 4; ++i) {
      names.push_back(dir / std::to_string(i));
      contents.push_back(random_bytes(random, random() % 3000));
      tar_writer::write(names.back(), contents.back());
    }
  }
};

/// The same files as a list of many that are read now and then.
class listed_files final : public object_names {
public:
  explicit listed_files(const known_files& of) : of_(of) {}
  std::string name(std::size_t object) const override { return of_.names[object]; }
  std::uint64_t bytes(std::size_t object) const override { return of_.contents[object].size(); }

private:
  const known_files& of_;
};

/// Reads random parts, some of them beyond an end, and compares with the contents.
void check_random_parts(const known_files& files, stored_objects& from, std::mt19937_64& random) {
  std::vector<std::string> got;
  std::vector<std::string> want;
  std::vector<read_part> parts;
  std::optional<read_part> torn;
  for (auto n = 1 + random() % 6; n > 0; --n) {
    const auto object = random() % files.names.size();
    const auto& content = files.contents[object];
    const auto offset = random() % (content.size() + 1);
    const auto most = content.size() - offset + (random() % 8 == 0 ? 3 : 0);
    const auto size = random() % 5 == 0 ? 0 : random() % (most + 1);
    got.emplace_back(size, '?');
    want.push_back(content.substr(offset, size));
    parts.push_back({object, offset, {}});
    if (!torn && want.back().size() < size)
      torn = parts.back();
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].into = std::as_writable_bytes(std::span{got[i]});
  if (torn)
    return check_error(
        [&] { read_now(from, parts); },
        {.code = errc::torn_file, .file = files.names[torn->object], .offset = torn->offset});
  read_now(from, parts);
  CHECK(got == want);
}

TEST_CASE("stores: parts of several objects read together are what lies there, or torn") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const known_files files{random};
    const far_store far{{.seed = seed}};
    for (const object_store* store : {&local_store(), static_cast<const object_store*>(&far)}) {
      for (const auto& objects :
           {store->open(files.names), store->open(std::make_shared<listed_files>(files), "test")})
        for (int i = 0; i < 20; ++i)
          check_random_parts(files, *objects, random);
    }
  }
}

TEST_CASE("stores: local files are read by the caller's thread before the call returns") {
  temporary_directory dir;
  tar_writer::write(dir / "x", "0123456789");
  const auto objects = local_store().open({dir / "x"});
  std::string into(20, ' ');
  const read_part part{0, 4, std::as_writable_bytes(std::span{into})};
  std::thread::id by;
  std::uint64_t bytes = 0;
  objects->read({&part, 1},
                [&](const read_result& x) {
                  by = std::this_thread::get_id();
                  bytes = x.bytes;
                },
                {});
  CHECK(by == std::this_thread::get_id());
  CHECK(bytes == 6);
  CHECK(into.substr(0, 6) == "456789");
}

TEST_CASE("stores: a file whose size is not the listed one is torn, and named, in any part") {
  std::mt19937_64 random{1};
  const known_files files{random};
  const auto objects = local_store().open(std::make_shared<listed_files>(files), "test");
  tar_writer::write(files.names[1], files.contents[1] + "more");
  std::array<std::byte, 2> bytes{};
  const std::array parts{read_part{0, 0, {bytes.data(), 1}}, read_part{1, 0, {&bytes[1], 1}}};
  const auto x = objects->read_here(parts, {});
  REQUIRE(x.failure);
  CHECK(x.failure->code() == errc::torn_file);
  CHECK(x.failure->details().stage == "test");
  CHECK(x.failure->details().file == files.names[1]);
  CHECK(objects->read_here({parts.data(), 1}, {}).bytes == 1);
}

TEST_CASE("stores: failures are values that name the file") {
  temporary_directory dir;
  const auto objects = local_store().open({dir / "nowhere"});
  std::byte byte{};
  const read_part part{0, 0, {&byte, 1}};
  std::shared_ptr<const error> failure;
  objects->read({&part, 1}, [&](const read_result& x) { failure = x.failure; }, {});
  REQUIRE(failure);
  CHECK(failure->code() == errc::not_found);
  CHECK(failure->details().file == dir / "nowhere");
  CHECK(code_of([&] { read_now(*objects, 0, 0, {}); }) == errc::not_found);
  CHECK(code_of([&] { objects->stat(0); }) == errc::not_found);
}

TEST_CASE("stores: what the system lacks is told apart from what is not there or fails") {
  const auto code_for = [](int problem) {
    return code_of([&] {
      errno = problem;
      throw_errno("open", "file", "a readable file");
    });
  };
  for (const int problem : {ENOENT, ENOTDIR})
    CHECK(code_for(problem) == errc::not_found);
  for (const int problem : {ENOMEM, EMFILE, ENFILE})
    CHECK(code_for(problem) == errc::no_resources);
  for (const int problem : {EACCES, EIO, EISDIR})
    CHECK(code_for(problem) == errc::io);
}

TEST_CASE("stores: a file that is replaced by one of its size and time has another version") {
  temporary_directory dir;
  tar_writer::write(dir / "x", "old");
  tar_writer::write(dir / "y", "new");
  const auto version = local_store().stat(dir / "x").version;
  CHECK(version.size == 3);
  CHECK(local_store().open({dir / "x"})->stat(0) == version);
  fs::last_write_time(dir / "y", fs::last_write_time(dir / "x"));
  fs::rename(dir / "y", dir / "x");
  const auto other = local_store().stat(dir / "x").version;
  CHECK(other.size == version.size);
  CHECK(other.mtime_ns == version.mtime_ns);
  CHECK(other != version);
}

TEST_CASE("stores: a folder lists what lies in it, and links as links") {
  temporary_directory dir;
  tar_writer::write(dir / "file", "x");
  fs::create_directories(dir / "folder/inner");
  fs::create_symlink(dir / "file", dir / "link");
  fs::create_symlink(dir / "nowhere", dir / "lost");
  fs::create_symlink(dir / "circle", dir / "circle");
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  std::map<std::string, object_kind> found;
  local_store().list(dir.path(), [&](const listed_object& x) { found[x.name] = x.is; });
  CHECK(found
        == std::map<std::string, object_kind>{{"file", object_kind::plain},
                                              {"folder", object_kind::folder},
                                              {"link", object_kind::link},
                                              {"lost", object_kind::link},
                                              {"circle", object_kind::link},
                                              {"pipe", object_kind::other}});
  CHECK(local_store().stat(dir / "link").is == object_kind::plain);
  CHECK(local_store().stat(dir / "folder").is == object_kind::folder);
  CHECK(local_store().stat(dir / "pipe").is == object_kind::other);
  for (const auto* name : {"lost", "circle", "nowhere"})
    CHECK(code_of([&] { local_store().stat(dir / name); }) == errc::not_found);
  check_error([&] { local_store().list(dir / "nowhere", [](auto) {}); },
              {.code = errc::not_found, .file = dir / "nowhere"});
}

} // namespace
} // namespace leat::object_store_test
