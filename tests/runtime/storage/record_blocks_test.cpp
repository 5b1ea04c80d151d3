#include "runtime/storage/record_blocks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/temporary_directory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace leat::record_blocks_test {
namespace {

using namespace leat::test;

/// Bytes that differ from place to place and from file to file.
std::string content(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random{seed};
  return random_bytes(random, size);
}

struct written_files {
  temporary_directory dir;
  std::vector<std::string> all;

  explicit written_files(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      all.push_back(content(i + sizes[i], sizes[i]));
      std::ofstream{path(i), std::ios::binary} << all.back();
    }
  }
  std::string path(std::size_t i) const { return dir / (std::to_string(100 + i) + ".txt"); }
  file_set found(const object_store& store = local_store()) const {
    return files_in(store, dir / "*.txt");
  }
};

std::optional<std::string> read(record_blocks& blocks, const stream_files& from, std::size_t file,
                                std::uint64_t offset, std::size_t size) {
  std::string into(size, '?');
  if (!blocks.read(from, file, offset, std::as_writable_bytes(std::span{into})))
    return std::nullopt;
  return into;
}

TEST_CASE("record blocks: any bytes of any file are those that the file has") {
  seeded_random random;
  // More blocks than are kept, and two files whose blocks compete for the same places.
  const written_files files{{1, 8192, 8193, 3'000'000, 3'000'000}};
  const stream_files from{files.found()};
  record_blocks blocks;
  for (int i = 0; i < 20'000; ++i) {
    const auto file = random() % files.all.size();
    const auto& all = files.all[file];
    const auto near = i % 3 == 0 ? 0 : all.size() / 2; // mostly near earlier reads
    const auto offset =
        near + random() % (i % 5 == 0 ? all.size() - near : 1 + (all.size() - near) / 50);
    const auto size = random() % (record_blocks::largest_record + 1);
    CAPTURE(file, offset, size);
    if (size <= all.size() - offset)
      REQUIRE(read(blocks, from, file, offset, size) == all.substr(offset, size));
    else
      REQUIRE(!read(blocks, from, file, offset, size));
  }
}

TEST_CASE("record blocks: other files in the same place of memory are other files") {
  const written_files first{{1000}};
  const written_files second{{2000}};
  record_blocks blocks;
  std::optional<stream_files> from;
  for (int i = 0; i < 4; ++i) {
    const auto& files = i % 2 == 0 ? first : second;
    from.emplace(files.found());
    REQUIRE(read(blocks, *from, 0, 100, 50) == files.all[0].substr(100, 50));
  }
}

TEST_CASE("record blocks: records that lie near each other take one read") {
  const written_files files{{100'000}};
  const far_store store{{.one_short_in = 0}};
  const stream_files from{files.found(store)};
  record_blocks blocks;
  for (std::uint64_t offset = 0; offset + 20 <= 100'000; offset += 20)
    REQUIRE(read(blocks, from, 0, offset, 20) == files.all[0].substr(offset, 20));
  CHECK(store.seen().ended
        == (100'000 + record_blocks::block_bytes - 1) / record_blocks::block_bytes);
}

TEST_CASE("record blocks: records that lie far from each other are read alone") {
  constexpr auto block = record_blocks::block_bytes;
  constexpr std::size_t many = 300;
  const written_files files{{many * block}};
  const far_store store{{.one_short_in = 0}};
  const stream_files from{files.found(store)};
  record_blocks blocks;
  std::size_t alone = 0;
  for (std::size_t i = 0; i < many; ++i) {
    const auto got = read(blocks, from, 0, i * block, 20);
    if (got)
      REQUIRE(got == files.all[0].substr(i * block, 20));
    alone += got ? 0 : 1;
  }
  CHECK(store.seen().ended == many - alone); // each of the others took a block
  CHECK(alone > many / 2);
  // Blocks pay again, once most records lie in one that was asked for.
  alone = 0;
  for (std::size_t offset = 0; offset + 20 <= 4 * block; offset += 20)
    alone += read(blocks, from, 0, offset, 20) ? 0 : 1;
  CHECK(alone < 150);
  CHECK(read(blocks, from, 0, 200 * block + 30, 20) == files.all[0].substr(200 * block + 30, 20));
}

TEST_CASE("record blocks: what cannot be read is not taken for what was there") {
  const written_files files{{40'000}};
  std::atomic<bool> fails = false;
  const far_store store{{.fail = [&](const std::string& name, std::uint64_t) {
    return fails ? std::optional{error(errc::io, {.file = name})} : std::nullopt;
  }}};
  const stream_files from{files.found(store)};
  record_blocks blocks;
  const auto second = record_blocks::block_bytes;
  REQUIRE(read(blocks, from, 0, 0, 100));
  fails = true;
  CHECK(read(blocks, from, 0, 200, 100) == files.all[0].substr(200, 100));
  CHECK(!read(blocks, from, 0, second, 100));
  CHECK(!read(blocks, from, 0, second - 50, 100));
  fails = false;
  CHECK(read(blocks, from, 0, second - 50, 100) == files.all[0].substr(second - 50, 100));
}

TEST_CASE("record blocks: a file that was cut short gives no bytes that it has not") {
  const written_files files{{40'000}};
  const stream_files from{files.found()};
  std::filesystem::resize_file(files.path(0), 10'000);
  record_blocks blocks;
  CHECK(read(blocks, from, 0, 8'000, 100) == files.all[0].substr(8'000, 100));
  CHECK(!read(blocks, from, 0, 9'000, 100)); // its block is torn, so it must be read alone
  CHECK(!read(blocks, from, 0, 20'000, 100));
}

TEST_CASE("record blocks: sources of one number do not share what they hold") {
  const written_files one{{9'000}};
  const written_files other{{9'001}};
  const stream_files a{one.found()};
  const stream_files b{other.found()};
  record_blocks blocks;
  std::ofstream{other.path(0), std::ios::binary} << content(77, 9'001);
  for (int i = 0; i < 3; ++i) {
    CHECK(read(blocks, a, 0, 10, 100) == one.all[0].substr(10, 100));
    CHECK(read(blocks, b, 0, 10, 100) == content(77, 9'001).substr(10, 100));
  }
}

} // namespace
} // namespace leat::record_blocks_test
