#include "runtime/storage/open_files.hpp"
#include "runtime/storage/read_now.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/open_names.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace leat::open_files_test {
namespace {

namespace fs = std::filesystem;
using namespace leat::test;
using texts = std::vector<std::string>;

/// The limit of a process that may have 8 descriptors: 4 places.
std::uint64_t eight() noexcept {
  return 8;
}

std::string read(stored_objects& from, std::size_t file, std::uint64_t at = 0,
                 std::size_t size = 1) {
  std::string into(size, ' ');
  read_now(from, file, at, std::as_writable_bytes(std::span{into}));
  return into;
}

TEST_CASE("open files: many of several sources are read through few descriptors by many threads") {
  const temporary_directory dir;
  texts paths;
  for (int i = 0; i < 50; ++i) {
    paths.push_back(dir / std::to_string(i));
    tar_writer::write(paths.back(), "content " + std::to_string(i + 1000));
  }
  constexpr std::size_t readers = 8;
  constexpr std::size_t places = 4;
  descriptor_budget budget{eight};
  std::vector<std::unique_ptr<open_files>> sources;
  for (int i = 0; i < 3; ++i)
    sources.push_back(std::make_unique<open_files>(paths, budget));
  std::atomic<int> wrong = 0;
  std::atomic<std::size_t> most = 0;
  in_threads(readers, [&](unsigned t) {
    std::mt19937 random{t};
    for (int i = 0; i < 500; ++i) {
      // Few files, so that threads read, open and close the same ones; then all.
      const auto file = random() % (i < 250 ? 3 : paths.size());
      wrong += read(*sources[random() % sources.size()], file, 8, 4) != std::to_string(file + 1000);
      if (const auto now = open_names(dir.path()).size(); now > most)
        most = now;
    }
  });
  CHECK(wrong == 0);
  CHECK(most <= places + 2 * readers); // each may be reading one, and closing another
  read(*sources[0], 0);
  read(*sources[1], 1);
  CHECK(open_names(dir.path()).size() <= places);
  sources.clear();
  CHECK(open_names(dir.path()).empty());
}

TEST_CASE("open files: the least recently used one of all sources is the one that closes") {
  const temporary_directory dir;
  for (const auto* name : {"a", "b", "c", "d", "e"})
    tar_writer::write(dir / name, name);
  descriptor_budget budget{eight};
  open_files one{{dir / "a", dir / "b"}, budget};
  open_files two{{dir / "c", dir / "d", dir / "e"}, budget};
  read(one, 0);
  read(one, 1);
  read(two, 0);
  read(two, 1);
  read(one, 0);
  read(two, 2);
  CHECK(open_names(dir.path()) == std::multiset<std::string>{"a", "c", "d", "e"});
  fs::remove(dir / "b");
  CHECK(code_of([&] { read(one, 1); }) == errc::not_found);
  CHECK(code_of([&] { read(one, 1); }) == errc::not_found); // an error again, not a hang
  CHECK(read(two, 0) == "c");
}

/// Reads four files, so that no other one of this budget is open.
void close_others(const temporary_directory& dir, descriptor_budget& budget) {
  texts paths;
  for (int i = 0; i < 4; ++i) {
    paths.push_back(dir / ("other" + std::to_string(i)));
    tar_writer::write(paths.back(), "x");
  }
  open_files others{paths, budget};
  for (std::size_t i = 0; i < paths.size(); ++i)
    read(others, i);
}

TEST_CASE("open files: one that was changed after it was closed is an error, and no other bytes") {
  const temporary_directory dir;
  const auto x = dir / "x";
  const std::vector<std::function<void()>> changes{
      [&] { // another file gets its name
        tar_writer::write(dir / "y", "new");
        fs::last_write_time(dir / "y", fs::last_write_time(x));
        fs::rename(dir / "y", x);
      },
      [&] { // its inode may be given to another file
        const auto time = fs::last_write_time(x);
        fs::remove(x);
        tar_writer::write(x, "new");
        fs::last_write_time(x, time + std::chrono::seconds{1});
      },
      [&] {
        std::ofstream{x, std::ios::app} << "er";
      },
      [&] { fs::last_write_time(x, fs::last_write_time(x) + std::chrono::seconds{1}); }};
  for (const auto& change : changes) {
    tar_writer::write(x, "old");
    descriptor_budget budget{eight};
    open_files files{{x}, budget};
    CHECK(read(files, 0, 0, 3) == "old");
    close_others(dir, budget);
    REQUIRE(open_names(dir.path()).count("x") == 0);
    CHECK(read(files, 0, 0, 3) == "old");
    close_others(dir, budget);
    change();
    for (int i = 0; i < 2; ++i)
      check_error([&] { read(files, 0, 0, 3); }, {.code = errc::io, .file = x});
    CHECK(code_of([&] { files.stat(0); }) == errc::io);
  }
}

} // namespace
} // namespace leat::open_files_test
