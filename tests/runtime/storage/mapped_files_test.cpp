#include "runtime/storage/guarded_copy.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/mapped_files.hpp"
#include "runtime/storage/read_now.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_status.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace leat::mapped_files_test {
namespace {

using namespace leat::test;

constexpr std::size_t page = 4096;

std::string random_bytes(std::size_t n) {
  std::mt19937_64 random{n};
  std::string x(n, '\0');
  for (auto& c : x)
    c = static_cast<char>(random() % 255 + 1); // no zero
  return x;
}

/// A file that is mapped as a whole.
class mapped {
public:
  mapped(const std::string& path, std::size_t size) : size_(size) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    at_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    REQUIRE(at_ != MAP_FAILED);
  }
  ~mapped() { ::munmap(at_, size_); }
  mapped(const mapped&) = delete;
  mapped& operator=(const mapped&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(at_), size_}; }

private:
  void* at_ = nullptr;
  std::size_t size_;
};

/// Installs the handler.
void copy_something() {
  std::vector<std::byte> from(3 * page);
  std::byte into{};
  if (!guarded_copy(from, 0, {&into, 1}))
    ::_exit(2);
}

void own_handler(int) {
  ::_exit(42);
}

// This must be the first test: no copy has been made before it in this process.
TEST_CASE("mapped files: signals from elsewhere go where they went before") {
  const auto raised_under = [](void (*handler)(int)) {
    return status_of_child([&] {
      ::signal(SIGBUS, handler);
      copy_something();
      return ::raise(SIGBUS);
    });
  };
  const auto by_default = raised_under(SIG_DFL); // sanitizers have a handler of their own
  REQUIRE(WIFSIGNALED(by_default));
  CHECK(WTERMSIG(by_default) == SIGBUS);
  const auto to_own = raised_under(own_handler);
  REQUIRE(WIFEXITED(to_own));
  CHECK(WEXITSTATUS(to_own) == 42);
  const temporary_directory dir;
  tar_writer::write(dir / "x", random_bytes(page));
  const auto by_access = status_of_child([&] {
    const mapped map{dir / "x", page};
    ::signal(SIGBUS, SIG_DFL);
    copy_something();
    std::filesystem::resize_file(dir / "x", 0);
    return static_cast<int>(*static_cast<const volatile std::byte*>(map.bytes().data()));
  });
  REQUIRE(WIFSIGNALED(by_access));
  CHECK(WTERMSIG(by_access) == SIGBUS);
}

TEST_CASE("mapped files: a handler that was installed since is noticed") {
  const auto status = status_of_child([] {
    copy_something();
    if (!copies_are_guarded())
      return 3;
    ::signal(SIGBUS, own_handler);
    return copies_are_guarded() ? 4 : 0;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

/// What a thread may announce as its next copy: something else each time.
std::span<const std::byte> some_next(std::span<const std::byte> map, std::size_t i) {
  switch (i % 4) {
  case 0:
    return {};
  case 1: // bytes that may be gone, or that lie in no page
    return {map.data() + map.size() - 10, 100 * page};
  case 2:
    return map.subspan(i * 7 % (map.size() - 10)).first(i % 10);
  default:
    return map.subspan(i * 31 % map.size());
  }
}

TEST_CASE("mapped files: a copy gives the file's bytes, or says that they are gone") {
  const temporary_directory dir;
  constexpr std::size_t size = 4 * page + 100;
  const auto bytes = random_bytes(size);
  std::vector<std::byte> into(2 * page);
  for (const std::size_t now : {size, 4 * page + 1, 4 * page, 4 * page - 1, 3 * page + 5, 2 * page,
                                page + 1, page, std::size_t{17}, std::size_t{0}}) {
    CAPTURE(now);
    tar_writer::write(dir / "x", bytes);
    const mapped map{dir / "x", size};
    std::filesystem::resize_file(dir / "x", now);
    // Exactly the bytes before the last page are copied, as long as that page is still there.
    const auto check = [&](std::size_t offset, std::size_t n) {
      CAPTURE(offset, n);
      const auto next = some_next(map.bytes(), offset + n);
      std::ranges::fill(into, std::byte{0});
      const bool is_copied = guarded_copy(map.bytes(), offset, std::span{into}.first(n), next);
      REQUIRE(is_copied == (now > 4 * page && offset + n <= 4 * page));
      if (is_copied)
        REQUIRE(std::memcmp(into.data(), bytes.data() + offset, n) == 0);
      // The file has no zeros.
      REQUIRE(std::all_of(into.begin() + static_cast<std::ptrdiff_t>(n), into.end(),
                          [](std::byte x) { return x == std::byte{0}; }));
    };
    for (const std::size_t n : {1UL, 700UL, page - 1, page, page + 1, 2 * page}) {
      for (std::size_t offset = 0; offset < size; offset += 331)
        check(offset, n);
      check(4 * page - n, n);
      check(4 * page - n + 1, n);
    }
  }
}

TEST_CASE("mapped files: what is read, and what is wrong, is what pread says") {
  std::mt19937_64 random{3};
  const temporary_directory dir;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const auto pattern = round % 2 == 0 ? read_pattern::random : read_pattern::sequential;
    const auto size = random() % (6 * page) + 1;
    tar_writer::write(dir / "x", random_bytes(size));
    tar_writer::write(dir / "y", "");
    const auto ours = local_store().open({dir / "y", dir / "x"}, pattern);
    const auto plain = local_store().open({dir / "y", dir / "x"});
    for (int i = 0; i < 60; ++i) {
      if (i == 20)
        std::filesystem::resize_file(dir / "x", random() % (size + 1));
      std::vector<read_part> parts;
      std::vector<read_part> ours_parts;
      std::vector<std::byte> a(5 * page);
      std::vector<std::byte> b(5 * page);
      for (std::size_t at = 0, k = random() % 4; k-- > 0;) {
        const auto n = std::min<std::size_t>(random() % (2 * page), a.size() - at);
        const auto offset = random() % (size + page);
        const auto file = random() % 8 == 0 ? 0U : 1U;
        parts.push_back({file, offset, std::span{a}.subspan(at, n)});
        ours_parts.push_back({file, offset, std::span{b}.subspan(at, n)});
        at += n;
      }
      if (i % 2 == 0) // whether or not it is read
        ours->expect(random() % 2, random() % (2 * size), random() % (2 * size));
      const auto want = problem_of([&] { read_now(*plain, parts); });
      const auto got = problem_of([&] { read_now(*ours, ours_parts); });
      REQUIRE(want.has_value() == got.has_value());
      if (want)
        REQUIRE(std::string{want->what()} == got->what());
      else
        REQUIRE(a == b);
    }
  }
}

TEST_CASE("mapped files: a file that is cut short while threads read it ends no process") {
  const temporary_directory dir;
  constexpr std::size_t size = 256 * page;
  const auto bytes = random_bytes(size);
  for (int round = 0; round < 10; ++round) {
    const auto pattern = round % 2 == 0 ? read_pattern::random : read_pattern::sequential;
    tar_writer::write(dir / "x", bytes);
    const auto objects = map_files({dir / "x"}, pattern);
    std::atomic<int> wrong = 0;
    std::atomic<int> begun = 0;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random{t};
        std::vector<std::byte> into(3 * page);
        bool fails = false;
        while (!fails) {
          const auto offset = random() % (size - into.size());
          const auto problem = problem_of([&] { read_now(*objects, 0, offset, into); });
          fails = problem.has_value();
          if (fails ? problem->code() != errc::torn_file
                    : std::memcmp(into.data(), bytes.data() + offset, into.size()) != 0)
            ++wrong;
          ++begun;
        }
      });
    while (begun < 30)
      std::this_thread::yield();
    std::filesystem::resize_file(dir / "x", 1000);
    threads.clear();
    CHECK(wrong == 0);
  }
}

/// Kilobytes of each mapping of a file below a folder that count as this process's memory.
std::vector<std::size_t> mapped_kilobytes(const std::string& folder) {
  std::vector<std::size_t> found;
  std::ifstream maps{"/proc/self/smaps"};
  bool is_ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(folder) != std::string::npos)
      is_ours = true;
    else if (is_ours && line.starts_with("Rss:")) {
      found.push_back(std::stoul(line.substr(4)));
      is_ours = false;
    }
  }
  return found;
}

TEST_CASE("mapped files: of many that are read through, only the last ones stay mapped") {
  const temporary_directory dir;
  constexpr std::size_t files = 300;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files; ++i) {
    names.push_back(dir / std::to_string(i));
    tar_writer::write(names.back(), random_bytes(3 * page + i));
  }
  for (const int reads : {3, 40}) { // 3 are too few to be worth a mapping
    CAPTURE(reads);
    const auto objects = map_files(names, read_pattern::sequential);
    std::atomic<int> wrong = 0;
    in_threads(3, [&](unsigned) {
      std::vector<std::byte> into(page);
      for (std::size_t i = 0; i < files; ++i) {
        const auto bytes = random_bytes(3 * page + i);
        for (int k = 0; k < reads; ++k) {
          const auto offset = static_cast<std::size_t>(k) % 5 * 400;
          read_now(*objects, i, offset, into);
          wrong += std::memcmp(into.data(), bytes.data() + offset, page) == 0 ? 0 : 1;
        }
      }
    });
    CHECK(wrong == 0);
    const auto mapped = mapped_kilobytes(dir.path()).size();
    CHECK(mapped >= 1);
    CHECK(mapped <= 128);
  }
}

TEST_CASE("mapped files: pages that were read through are given up") {
  const temporary_directory dir;
  constexpr std::size_t block = 16 * page;
  constexpr std::size_t size = 64 * block;
  tar_writer::write(dir / "x", random_bytes(size + 2 * page));
  std::vector<std::byte> into(block);
  for (const auto pattern : {read_pattern::random, read_pattern::sequential}) {
    const auto objects = map_files({dir / "x"}, pattern);
    std::size_t least = SIZE_MAX;
    std::size_t most = 0;
    for (int pass = 0; pass < 70; ++pass) {
      for (std::size_t at = 0; at < size; at += block) { // 256 MiB end with a pass
        read_now(*objects, 0, at, std::span{into}.first(100));
        read_now(*objects, 0, at + 100, std::span{into}.subspan(100));
      }
      const auto now = mapped_kilobytes(dir.path());
      REQUIRE(now.size() == 1);
      least = std::min(least, now[0]);
      most = std::max(most, now[0]);
    }
    CHECK(most >= size / 1024);
    CHECK((least == 0) == (pattern == read_pattern::sequential));
  }
}

TEST_CASE("mapped files: large parts touch no pages, unless small ones are read as well") {
  const temporary_directory dir;
  constexpr std::size_t block = 16 * page;
  constexpr std::size_t size = 64 * block;
  const auto all = random_bytes(size + 2 * page);
  tar_writer::write(dir / "x", all);
  std::vector<std::byte> into(block);
  const auto objects = map_files({dir / "x"}, read_pattern::sequential);
  const auto touched_by = [&](bool small_ones) {
    for (std::size_t at = 0; at < size; at += block) {
      if (small_ones)
        read_now(*objects, 0, at, std::span{into}.first(1));
      read_now(*objects, 0, at, into);
      REQUIRE(std::memcmp(into.data(), all.data() + at, block) == 0);
    }
    return mapped_kilobytes(dir.path()).at(0);
  };
  CHECK(touched_by(false) == 0);
  CHECK(touched_by(true) >= size / 1024);
}

TEST_CASE("mapped files: names that do not exist are errors, as without a mapping") {
  const temporary_directory dir;
  const auto objects = map_files({dir / "none"}, read_pattern::random);
  std::byte into{};
  CHECK(code_of([&] { read_now(*objects, 0, 0, {&into, 1}); }) == errc::not_found);
  CHECK(code_of([&] { objects->stat(0); }) == errc::not_found);
}

} // namespace
} // namespace leat::mapped_files_test
