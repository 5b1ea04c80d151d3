// The files of a cache, without threads: what is stored is found, what is damaged is not, and what
// is not ours stays.

#include "runtime/storage/cache/block_file.hpp"
#include "runtime/storage/cache/cache_directory.hpp"
#include "tests/support/block_files.hpp"
#include "tests/support/child_status.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace leat::cache_directory_test {
namespace {

using namespace leat::test;
using found = cache_directory::found;
using state = block_claim::state;
namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

block_id id_of(std::uint64_t key, std::uint64_t index = 0) {
  return {{key * 0x9e3779b97f4a7c15U, key * 0xc2b2ae3d27d4eb4fU}, index};
}

cache_settings settings(const temporary_directory& at, std::uint64_t limit = 1 << 30) {
  return {.directory = at.path(), .limit = limit, .reserve = 0};
}

bool has(cache_directory& in, const block_id& id, const std::vector<std::byte>& block) {
  return read_block(in, id, block.size(), 0, block.size()) == std::pair{found::bytes, block};
}

/// As if it was last used a while ago.
void make_old(const std::string& file, int seconds) {
  timespec times[2]{};
  ::clock_gettime(CLOCK_REALTIME, times);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

TEST_CASE("cache directory: any range of what is stored is found, by others, too") {
  const temporary_directory at;
  cache_directory one{settings(at)};
  cache_directory other{settings(at)};
  std::mt19937_64 random{1};
  for (const std::size_t size : {1, 1000, 16'384, 50'000, 1 << 20}) {
    CAPTURE(size);
    const auto id = id_of(size, 3);
    const auto block = made_block(size, size);
    CHECK(read_block(one, id, size, 0, size).first == found::nothing);
    REQUIRE(put_block(one, id, block));
    CHECK(has(other, id, block));
    for (int i = 0; i < 50; ++i) {
      const auto begin = random() % size;
      const auto end = begin + 1 + random() % (size - begin);
      const auto [is, bytes] = read_block(other, id, size, begin, end);
      CHECK(is == found::bytes);
      CHECK(std::equal(bytes.begin(), bytes.end(),
                       block.begin() + static_cast<std::ptrdiff_t>(begin),
                       block.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    CHECK(read_block(one, id_of(size, 4), size, 0, size).first == found::nothing);
    CHECK(read_block(one, id, size + 1, 0, size).first == found::damaged);
  }
  CHECK(block_files(at.path()).size() == 5);
  CHECK(block_files(at.path(), ".part").empty());
  // Nobody else on this machine may read what this user may.
  struct ::stat x {};
  REQUIRE(::stat(own_folder_of(at.path()).c_str(), &x) == 0);
  CHECK((x.st_mode & 0077) == 0);
  REQUIRE(::stat(block_files(at.path())[0].c_str(), &x) == 0);
  CHECK((x.st_mode & 0077) == 0);
}

TEST_CASE("cache directory: flipped bits, cuts and other blocks' files are found and replaced") {
  const temporary_directory at;
  cache_directory cache{settings(at)};
  const auto id = id_of(7);
  const auto block = made_block(7, 20'000);
  REQUIRE(put_block(cache, id, block));
  const auto file = block_files(at.path()).at(0);
  const auto right = content_of(file);
  std::mt19937_64 random{2};
  std::vector<std::size_t> bits;
  for (std::size_t byte = 0; byte < right.size(); ++byte)
    bits.push_back(byte * 8 + random() % 8);
  for (const auto bit : bits) {
    auto damaged = right;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_content(file, damaged);
    if (read_block(cache, id, block.size(), 0, block.size()).first != found::damaged)
      FAIL("bit " << bit);
  }
  for (std::size_t size = 0; size < right.size(); size += 1 + random() % 200) {
    write_content(file, right.substr(0, size));
    if (read_block(cache, id, block.size(), 0, block.size()).first != found::damaged)
      FAIL("cut at " << size);
  }
  write_content(file, right + "x");
  CHECK(read_block(cache, id, block.size(), 0, block.size()).first == found::damaged);
  REQUIRE(put_block(cache, id_of(8), made_block(8, 20'000)));
  for (const auto& x : block_files(at.path()))
    if (x != file)
      write_content(file, content_of(x));
  CHECK(read_block(cache, id, block.size(), 0, block.size()).first == found::damaged);
  REQUIRE(put_block(cache, id, block));
  CHECK(has(cache, id, block));
}

TEST_CASE("cache directory: a damaged chunk hides none of the others") {
  const temporary_directory at;
  cache_directory cache{settings(at)};
  const auto block = made_block(9, 100'000);
  REQUIRE(put_block(cache, id_of(9), block));
  const auto file = block_files(at.path()).at(0);
  auto bytes = content_of(file);
  bytes[block_header_bytes + 50'000] ^= 1;
  write_content(file, bytes);
  CHECK(read_block(cache, id_of(9), block.size(), 0, 49'000).first == found::bytes);
  CHECK(read_block(cache, id_of(9), block.size(), 70'000, 100'000).first == found::bytes);
  CHECK(read_block(cache, id_of(9), block.size(), 10, 50'001).first == found::damaged);
  CHECK(read_block(cache, id_of(9), block.size(), 49'999, 50'000).first == found::damaged);
}

TEST_CASE("cache directory: a block is one's at a time, until it is stored or given up") {
  const temporary_directory at;
  cache_directory one{settings(at)};
  cache_directory other{settings(at)};
  const auto block = made_block(1, 5000);
  auto mine = one.claim(id_of(1));
  CHECK(mine.is() == state::mine);
  auto theirs = other.claim(id_of(1));
  CHECK(theirs.is() == state::taken);
  CHECK(one.claim(id_of(1)).is() == state::taken);
  CHECK(other.claim(id_of(1, 1)).is() == state::mine);
  other.claim_again(theirs, id_of(1));
  CHECK(theirs.is() == state::taken);
  REQUIRE(one.store(mine, id_of(1), block));
  other.claim_again(theirs, id_of(1));
  CHECK(theirs.is() == state::mine);
  CHECK(has(other, id_of(1), block)); // which is why it looks before it fetches
  theirs = {};
  CHECK(block_files(at.path(), ".part").empty());
  mine = one.claim(id_of(2));
  theirs = other.claim(id_of(2));
  CHECK(theirs.is() == state::taken);
  mine = {};
  other.claim_again(theirs, id_of(2));
  CHECK(theirs.is() == state::mine);
  CHECK_FALSE(has(other, id_of(2), block));
}

TEST_CASE("cache directory: what a killed process left is written over") {
  const temporary_directory at;
  cache_directory cache{settings(at)};
  const auto block = made_block(3, 5000);
  REQUIRE(put_block(cache, id_of(3), block));
  const auto file = block_files(at.path()).at(0);
  const auto part = file.substr(0, file.size() - 6) + ".part";
  fs::rename(file, part);
  write_content(part, std::string(9000, 'x'));
  CHECK_FALSE(has(cache, id_of(3), block));
  REQUIRE(put_block(cache, id_of(3), block));
  CHECK(has(cache, id_of(3), block));
}

TEST_CASE("cache directory: things in the place of its files are not followed, nor waited for") {
  const temporary_directory at;
  const temporary_directory elsewhere;
  write_content(elsewhere / "precious", "precious");
  cache_directory cache{settings(at)};
  const auto block = made_block(4, 5000);
  for (const bool is_part : {false, true})
    for (const int kind : {0, 1, 2, 3}) {
      CAPTURE(is_part, kind);
      const auto id = id_of(10 + static_cast<std::uint64_t>(kind), is_part ? 1 : 0);
      const auto folder = own_folder_of(at.path()) + "/" + folder_of(id);
      fs::create_directories(folder);
      const auto file = folder + "/" + name_of({id, is_part});
      if (kind == 0)
        fs::create_symlink(elsewhere / "precious", file);
      if (kind == 1)
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
      if (kind == 2)
        fs::create_directory(file);
      if (kind == 3)
        fs::create_hard_link(elsewhere / "precious", file);
      CHECK(read_block(cache, id, block.size(), 0, 10).first
            == (kind == 3 && !is_part ? found::damaged : found::nothing));
      const bool is_put = put_block(cache, id, block);
      CHECK(is_put == (!is_part && kind != 2));
      CHECK(has(cache, id, block) == is_put);
      CHECK(content_of(elsewhere / "precious") == "precious");
    }
  CHECK(cache.takes_more());
}

TEST_CASE("cache directory: it keeps within its limit, and removes what was used longest ago") {
  const temporary_directory at;
  const auto block = made_block(5, mebibyte);
  const std::uint64_t limit = 20 * (mebibyte + 4096);
  {
    cache_directory before{settings(at, limit)};
    for (std::uint64_t i = 0; i < 18; ++i)
      REQUIRE(put_block(before, id_of(i), block));
  }
  write_content(at / "leat-cache-1/mine.txt", "mine");
  write_content(at / "mine.txt", "mine");
  std::map<std::string, std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 18; ++i) {
    const auto file =
        own_folder_of(at.path()) + "/" + folder_of(id_of(i)) + "/" + name_of({id_of(i), false});
    make_old(file, 10'000 - 100 * static_cast<int>((i * 7) % 18)); // the oldest is not the first
    numbers[file] = (i * 7) % 18;
  }
  cache_directory cache{settings(at, limit)};
  CHECK(has(cache, id_of(0), block)); // which is the oldest, and used now
  cache.space().uses(id_of(13).key);  // (13 * 7) % 18 == 1: the second oldest is of this process
  for (std::uint64_t i = 100; i < 110; ++i) {
    REQUIRE(put_block(cache, id_of(i), block));
    CHECK(block_files(at.path()).size() * (mebibyte + 4096) <= limit);
  }
  CHECK(has(cache, id_of(0), block));
  CHECK(has(cache, id_of(13), block));
  for (std::uint64_t i = 100; i < 110; ++i)
    CHECK(has(cache, id_of(i), block));
  // Of all others, the youngest are left.
  std::set<std::uint64_t> left;
  for (const auto& x : block_files(at.path()))
    if (numbers.contains(x) && numbers[x] > 1)
      left.insert(numbers[x]);
  CHECK(left.size() >= 6);
  CHECK(*left.begin() == 18 - left.size());
  CHECK(content_of(at / "mine.txt") == "mine");
  CHECK(content_of(at / "leat-cache-1/mine.txt") == "mine");
}

TEST_CASE("cache directory: what this process uses fills it once and stays") {
  const temporary_directory at;
  const std::uint64_t limit = 10 * (mebibyte + 4096);
  cache_directory cache{settings(at, limit)};
  const auto block = made_block(6, mebibyte);
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < 100; ++i)
    if (cache.space().may_have_room())
      stored += put_block(cache, id_of(i), block) ? 1 : 0;
  CHECK(stored >= 9);
  CHECK(block_files(at.path()).size() == stored);
  for (std::uint64_t i = 0; i < stored; ++i)
    CHECK(has(cache, id_of(i), block));
  CHECK(block_files(at.path(), ".part").empty());
}

TEST_CASE("cache directory: several count together, also with a damaged count or none") {
  const temporary_directory at;
  const std::uint64_t limit = 20 * (mebibyte + 4096);
  const auto block = made_block(6, mebibyte);
  std::uint64_t next = 0;
  for (const std::string damage : {"", "x", "none"}) {
    CAPTURE(damage);
    const auto count = own_folder_of(at.path()) + "/count";
    if (damage == "x")
      write_content(count, std::string(16, 'x'));
    if (damage == "none")
      fs::remove(count);
    std::vector<std::unique_ptr<cache_directory>> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(std::make_unique<cache_directory>(settings(at, limit)));
    for (int i = 0; i < 60; ++i)
      put_block(*all[static_cast<std::size_t>(i) % 4], id_of(next++), block);
    CHECK(block_files(at.path()).size() <= 20);
    CHECK(block_files(at.path()).size() >= 18);
  }
}

TEST_CASE("cache directory: a disk that has less free than the reserve gets no block") {
  const temporary_directory at;
  auto how = settings(at);
  how.reserve = std::uint64_t{1} << 60;
  cache_directory cache{how};
  CHECK_FALSE(put_block(cache, id_of(1), made_block(1, 100)));
  CHECK(block_files(at.path()).empty());
  CHECK(block_files(at.path(), ".part").empty());
}

TEST_CASE("cache directory: a disk that takes no more is read on, and that is said once") {
  const temporary_directory at;
  heard_notices heard;
  cache_directory cache{settings(at)};
  const auto block = made_block(1, 100'000);
  REQUIRE(put_block(cache, id_of(1), block));
  {
    const file_size_limit limit{50'000};
    CHECK_FALSE(put_block(cache, id_of(2), block));
  }
  CHECK_FALSE(cache.takes_more());
  CHECK_FALSE(put_block(cache, id_of(3), block));
  CHECK(has(cache, id_of(1), block));
  CHECK_FALSE(has(cache, id_of(2), block));
  CHECK(block_files(at.path(), ".part").empty());
  REQUIRE(heard.texts().size() == 1);
  CHECK(heard.texts()[0].find(own_folder_of(at.path())) != std::string::npos);
}

TEST_CASE("cache directory: one that is removed is done without, and a folder of it made again") {
  const temporary_directory at;
  heard_notices heard;
  cache_directory cache{settings(at)};
  const auto block = made_block(1, 100'000);
  REQUIRE(put_block(cache, id_of(1), block));
  fs::remove_all(own_folder_of(at.path()) + "/" + folder_of(id_of(1)));
  CHECK_FALSE(has(cache, id_of(1), block));
  REQUIRE(put_block(cache, id_of(1), block));
  auto claim = cache.claim(id_of(2));
  REQUIRE(claim.is() == state::mine);
  fs::remove_all(own_folder_of(at.path()));
  CHECK_FALSE(cache.store(claim, id_of(2), block));
  CHECK_FALSE(put_block(cache, id_of(1), block));
  CHECK_FALSE(has(cache, id_of(1), block));
  CHECK_FALSE(cache.takes_more());
  CHECK(heard.number() == 1);
}

TEST_CASE("cache directory: one that may only be read serves what is in it") {
  const temporary_directory at;
  const auto block = made_block(1, 100'000);
  {
    cache_directory cache{settings(at)};
    REQUIRE(put_block(cache, id_of(1), block));
  }
  for (const auto& x : fs::recursive_directory_iterator{at.path()})
    fs::permissions(x.path(), x.is_directory() ? fs::perms{0555} : fs::perms{0444});
  fs::permissions(at.path(), fs::perms{0555});
  const int status = status_of_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0)
      return 77;
    set_notice_handler([](const std::string&) {});
    cache_directory cache{settings(at)};
    if (!has(cache, id_of(1), block))
      return 1;
    if (put_block(cache, id_of(2), block))
      return 2;
    return cache.takes_more() ? 3 : 0;
  });
  fs::permissions(at.path(), fs::perms{0755});
  for (const auto& x : fs::recursive_directory_iterator{at.path()})
    fs::permissions(x.path(), x.is_directory() ? fs::perms{0755} : fs::perms{0644});
  CHECK(status == 0);
}

TEST_CASE("cache directory: a limit below a block, and a file in its place, are refused") {
  const temporary_directory at;
  check_error([&] { cache_directory{settings(at, mebibyte)}; },
              {.code = errc::invalid_argument, .stage = "cache"});
  write_content(at / "leat-cache-1", "mine");
  CHECK(code_of([&] { cache_directory{settings(at)}; }) == errc::io);
  CHECK(content_of(at / "leat-cache-1") == "mine");
}

TEST_CASE("cache directory: any range is read into its place, and nothing that is damaged") {
  const temporary_directory at;
  cache_directory cache{settings(at)};
  std::mt19937_64 random{7};
  const auto seed = random();
  CAPTURE(seed);
  for (const std::size_t size : {std::size_t{1}, block_chunk_bytes, block_chunk_bytes + 1,
                                 5 * block_chunk_bytes - 3, mebibyte}) {
    CAPTURE(size);
    const auto id = id_of(size);
    const auto block = made_block(seed, size);
    REQUIRE(put_block(cache, id, block));
    std::vector<std::pair<std::size_t, std::size_t>> ranges{{0, size}, {size - 1, size}, {0, 1}};
    for (int i = 0; i < 40; ++i) {
      const auto begin = random() % size;
      ranges.emplace_back(begin, begin + 1 + random() % (size - begin));
      const auto chunk = begin / block_chunk_bytes * block_chunk_bytes;
      ranges.emplace_back(chunk, std::min(size, chunk + 2 * block_chunk_bytes));
    }
    for (const auto& [begin, end] : ranges) {
      CAPTURE(begin, end);
      std::vector<std::byte> all(end - begin + 2, std::byte{77});
      const auto into = std::span{all}.subspan(1, end - begin);
      REQUIRE(cache.read_into(id, size, begin, into) == found::bytes);
      CHECK(
          std::equal(into.begin(), into.end(), block.begin() + static_cast<std::ptrdiff_t>(begin)));
      CHECK((all.front() == std::byte{77} && all.back() == std::byte{77}));
    }
    CHECK(cache.expect(id, size, 0, size));
    // A change is found by whoever reads its chunk.
    const auto file = own_folder_of(at.path()) + "/" + folder_of(id) + "/" + name_of({.id = id});
    const auto right = content_of(file);
    for (int i = 0; i < 20; ++i) {
      const auto changed = random() % size;
      auto bytes = right;
      bytes[block_header_bytes + changed] ^= static_cast<char>(1 << random() % 8);
      write_content(file, bytes);
      const auto begin = changed / block_chunk_bytes * block_chunk_bytes;
      std::vector<std::byte> into(std::min(size - begin, 1 + random() % size));
      CHECK(cache.read_into(id, size, begin, into) == found::damaged);
    }
    CHECK_FALSE(cache.expect(id, size + 1, 0, size));
  }
  CHECK_FALSE(cache.expect(id_of(99), 5, 0, 5));
}

TEST_CASE("cache directory: a limit that is raised leaves room at once") {
  const temporary_directory at;
  constexpr std::uint64_t room_of_block = mebibyte + 4096;
  cache_directory cache{settings(at, 2 * room_of_block)};
  const auto put = [&](std::uint64_t key) {
    cache.space().uses(id_of(key).key);
    return cache.space().may_have_room() && put_block(cache, id_of(key), made_block(key, mebibyte));
  };
  CHECK(put(1));
  CHECK(put(2));
  CHECK_FALSE(put(3));
  CHECK_FALSE(put(3)); // without a look
  cache.space().set_limit(3 * room_of_block);
  CHECK(put(3));
  CHECK_FALSE(put(4));
  CHECK(code_of([] { checked_cache_limit(mebibyte); }) == errc::invalid_argument);
  CHECK(checked_cache_limit(room_of_block) == room_of_block);
}

/// Stores, reads and checks blocks at random; a block that is not the right one ends it.
int work_in(const cache_settings& how, std::uint64_t seed, int rounds) {
  cache_directory cache{how};
  std::mt19937_64 random{seed};
  for (int i = 0; rounds == 0 || i < rounds; ++i) {
    const auto key = random() % 40;
    const auto size = static_cast<std::size_t>(1 + key * 10'000);
    const auto block = made_block(key, size);
    const auto [is, bytes] = read_block(cache, id_of(key), size, 0, size);
    if (is == found::bytes && bytes != block)
      return 1;
    if (is == found::damaged)
      return 2;
    if (is == found::nothing)
      put_block(cache, id_of(key), block);
  }
  return 0;
}

TEST_CASE("cache directory: processes that are killed at any moment leave a usable one") {
  const temporary_directory at;
  write_content(at / "mine.txt", "mine");
  const auto how = settings(at, 6 * mebibyte);
  std::mt19937_64 random{5};
  for (int round = 0; round < 12; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const auto seed = random();
      children.push_back(::fork());
      if (children.back() == 0)
        ::_exit(work_in(how, seed, 0));
    }
    // The moment of death is the point of the test; nothing waits for it.
    std::this_thread::sleep_for(std::chrono::milliseconds{10 + random() % 60});
    for (const auto x : children) {
      ::kill(x, SIGKILL);
      int status = 0;
      REQUIRE(::waitpid(x, &status, 0) == x);
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    }
    CHECK(work_in(how, random(), 100) == 0);
  }
  std::uint64_t bytes = 0;
  for (const auto& x : block_files(at.path()))
    bytes += fs::file_size(x);
  CHECK(bytes <= how.limit);
  CHECK(bytes > 0);
  CHECK(content_of(at / "mine.txt") == "mine");
}

} // namespace
} // namespace leat::cache_directory_test
