// Blocks of a cache that stay mapped: what is read is right or refused, whatever happens to files.

#include "runtime/storage/cache/open_blocks.hpp"
#include "tests/support/block_files.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <optional>

namespace leat::open_blocks_test {
namespace {

using namespace leat::test;
using found = cache_directory::found;
namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1 << 20;

block_id id_of(std::uint64_t index) {
  return {{0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU}, index};
}

/// A cache with one block.
struct one_block {
  temporary_directory at;
  cache_directory directory{{.directory = at.path(), .limit = 1 << 30, .reserve = 0}};
  block_id id = id_of(3);
  std::vector<std::byte> bytes;

  explicit one_block(std::size_t size) : bytes(made_block(size, size)) {
    REQUIRE(put_block(directory, id, bytes));
  }
  std::string file() const { return block_files(at.path()).at(0); }

  /// Nothing if it is refused; otherwise whether it is right.
  std::optional<bool> is_right(open_blocks& in, std::size_t begin, std::size_t size) const {
    std::vector<std::byte> all(size + 2, std::byte{77});
    const auto into = std::span{all}.subspan(1, size);
    if (in.read_into(id, bytes.size(), begin, into) != found::bytes)
      return {};
    return std::equal(into.begin(), into.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin))
           && all.front() == std::byte{77} && all.back() == std::byte{77};
  }
  /// Opens it, but reads no more than its first byte.
  void open(open_blocks& in) const {
    for (int i = 0; i < 2; ++i)
      REQUIRE(is_right(in, 0, 1) == true);
    REQUIRE(in.has(id));
  }
};

TEST_CASE("open blocks: a block is opened by the second read, and any range of it is right") {
  std::mt19937_64 random{1};
  for (const std::size_t size : {std::size_t{1}, std::size_t{3072}, block_chunk_bytes,
                                 5 * block_chunk_bytes + 3, mebibyte}) {
    CAPTURE(size);
    one_block block{size};
    open_blocks blocks{block.directory};
    CHECK_FALSE(blocks.has(block.id));
    CHECK(block.is_right(blocks, 0, size) == true);
    CHECK_FALSE(blocks.has(block.id));
    CHECK(block.is_right(blocks, size - 1, 1) == true);
    CHECK(blocks.has(block.id));
    for (int i = 0; i < 200; ++i) {
      const auto begin = random() % size;
      CHECK(block.is_right(blocks, begin, 1 + random() % (size - begin)) == true);
    }
    CHECK(block.is_right(blocks, 0, size) == true);
  }
}

/// The system's time of changes moves on some hundred times a second.
void change_time(const std::string& file) {
  struct ::stat before {
  }, now{};
  REQUIRE(::stat(file.c_str(), &before) == 0);
  do {
    fs::last_write_time(file, fs::last_write_time(file));
    REQUIRE(::stat(file.c_str(), &now) == 0);
  } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec
           && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

TEST_CASE("open blocks: a bit that is flipped at any time is found") {
  std::mt19937_64 random{2};
  one_block block{3 * block_chunk_bytes + 1000};
  const auto right = content_of(block.file());
  for (int i = 0; i < 300; ++i) {
    change_time(block.file());
    open_blocks blocks{block.directory};
    block.open(blocks);
    if (i % 2 == 0)
      CHECK(block.is_right(blocks, 0, block.bytes.size()) == true); // all chunks were right once
    const auto at = random() % block.bytes.size();
    CAPTURE(at);
    auto damaged = right;
    damaged[block_header_bytes + at] ^= static_cast<char>(1 << random() % 8);
    write_content(block.file(), damaged);
    change_time(block.file());
    CHECK(block.is_right(blocks, at / block_chunk_bytes * block_chunk_bytes, 1) == std::nullopt);
    CHECK_FALSE(blocks.has(block.id));
    write_content(block.file(), right);
    CHECK(block.is_right(blocks, at, 1) == true);
  }
}

TEST_CASE("open blocks: what was damaged before is found by who reads it, as a whole or in part") {
  std::mt19937_64 random{5};
  one_block block{3 * block_chunk_bytes + 1000};
  const auto right = content_of(block.file());
  for (int i = 0; i < 100; ++i) {
    const auto at = block_chunk_bytes + random() % (block.bytes.size() - block_chunk_bytes);
    const auto chunk = at / block_chunk_bytes * block_chunk_bytes;
    const auto size = std::min(block_chunk_bytes, block.bytes.size() - chunk);
    CAPTURE(at);
    auto damaged = right;
    damaged[block_header_bytes + at] ^= static_cast<char>(1 << random() % 8);
    write_content(block.file(), damaged);
    for (const bool is_whole : {false, true}) {
      open_blocks blocks{block.directory};
      block.open(blocks); // by its first chunk
      CHECK(block.is_right(blocks, 0, block_chunk_bytes) == true);
      CHECK(block.is_right(blocks, is_whole ? chunk : chunk + size / 2, is_whole ? size : 1)
            == std::nullopt);
    }
    change_time(block.file());
  }
}

TEST_CASE("open blocks: any flipped bit of a file is found by who opens it") {
  std::mt19937_64 random{3};
  one_block block{3 * block_chunk_bytes + 1000};
  const auto right = content_of(block.file());
  for (int i = 0; i < 300; ++i) {
    auto damaged = right;
    const auto bit = random() % (right.size() * 8);
    CAPTURE(bit);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_content(block.file(), damaged);
    open_blocks blocks{block.directory};
    for (int again = 0; again < 3; ++again)
      CHECK(block.is_right(blocks, 0, block.bytes.size()) == std::nullopt);
  }
}

TEST_CASE("open blocks: a file that is cut while it is mapped gives right bytes or none") {
  std::mt19937_64 random{4};
  one_block block{5 * block_chunk_bytes + 1000};
  const auto right = content_of(block.file());
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    open_blocks blocks{block.directory};
    block.open(blocks);
    if (i % 2 == 0)
      CHECK(block.is_right(blocks, 0, block.bytes.size()) == true); // all chunks were right once
    const auto size = random() % right.size();
    CAPTURE(i, size);
    fs::resize_file(block.file(), size);
    for (int reads = 0; reads < 5; ++reads) {
      const auto begin = random() % block.bytes.size();
      const auto is = block.is_right(blocks, begin, 1 + random() % (block.bytes.size() - begin));
      CHECK(is.value_or(true));
      refused += is ? 0 : 1;
    }
    write_content(block.file(), right);
  }
  CHECK(refused > 50);
}

TEST_CASE("open blocks: one that another process removes is fetched again") {
  one_block block{mebibyte};
  open_blocks blocks{block.directory};
  block.open(blocks);
  fs::remove(block.file());
  CHECK(block.is_right(blocks, 100'000, 500'000) == std::nullopt);
  CHECK_FALSE(blocks.has(block.id));
}

std::atomic<std::int64_t> seconds_of_test = 0;

TEST_CASE("open blocks: a use is written down once a minute") {
  one_block block{1000};
  fs::last_write_time(block.file(), fs::file_time_type::clock::now() - std::chrono::hours{1});
  const auto is_old = [&] {
    return fs::last_write_time(block.file())
           < fs::file_time_type::clock::now() - std::chrono::minutes{30};
  };
  seconds_of_test = 0;
  open_blocks blocks{block.directory, []() noexcept { return seconds_of_test.load(); }};
  REQUIRE(blocks.expect(block.id, 1000, 0, 1000)); // which reads nothing
  REQUIRE(blocks.expect(block.id, 1000, 0, 1000));
  REQUIRE(blocks.has(block.id));
  seconds_of_test = 59;
  CHECK(block.is_right(blocks, 0, 1000) == true);
  CHECK(is_old());
  seconds_of_test = 60;
  CHECK(block.is_right(blocks, 0, 1000) == true);
  CHECK_FALSE(is_old());
  CHECK(blocks.has(block.id));
}

TEST_CASE("open blocks: those that were used last stay open") {
  const temporary_directory at;
  cache_directory directory{{.directory = at.path(), .limit = 1 << 30, .reserve = 0}};
  open_blocks blocks{directory};
  const auto read = [&](std::uint64_t i) {
    std::byte x{};
    return blocks.read_into(id_of(i), 10, 0, {&x, 1}) == found::bytes && x == made_block(i, 10)[0];
  };
  const std::uint64_t more = 10;
  for (std::uint64_t i = 0; i < open_blocks::most_open + more; ++i) {
    REQUIRE(put_block(directory, id_of(i), made_block(i, 10)));
    CHECK((read(i) && read(i)));
    CHECK(read(0)); // used all the time
  }
  for (std::uint64_t i = 0; i < open_blocks::most_open + more; ++i) {
    CAPTURE(i);
    CHECK(blocks.has(id_of(i)) == (i == 0 || i > more));
  }
}

TEST_CASE("open blocks: many threads read right bytes while files are removed and made again") {
  const temporary_directory at;
  cache_directory directory{{.directory = at.path(), .limit = 1 << 30, .reserve = 0}};
  open_blocks blocks{directory};
  constexpr std::uint64_t count = 20;
  const std::size_t size = 2 * block_chunk_bytes;
  std::vector<std::vector<std::byte>> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(made_block(i, size));
    REQUIRE(put_block(directory, id_of(i), all.back()));
  }
  std::atomic<int> wrong = 0;
  std::atomic<int> read = 0;
  in_threads(4, [&](unsigned t) {
    std::mt19937_64 random{t};
    std::vector<std::byte> into(size);
    for (int n = 0; n < 2000; ++n) {
      const auto i = random() % count;
      if (n % 50 == 0) {
        std::error_code ignored;
        fs::remove(own_folder_of(at.path()) + "/" + folder_of(id_of(i)) + "/"
                       + name_of({.id = id_of(i)}),
                   ignored);
      }
      const auto is = blocks.read_into(id_of(i), size, 0, into);
      wrong += is == found::damaged || (is == found::bytes && into != all[i]) ? 1 : 0;
      read += is == found::bytes ? 1 : 0;
      if (is == found::nothing)
        put_block(directory, id_of(i), all[i]);
    }
  });
  CHECK(wrong == 0);
  CHECK(read > 4000);
}

} // namespace
} // namespace leat::open_blocks_test
