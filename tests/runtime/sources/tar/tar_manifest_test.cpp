// The bytes of manifests: whole, torn, forged, and of sizes that nobody has.

#include "runtime/base/xxh3.hpp"
#include "runtime/sources/tar/tar_manifest.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/random_text.hpp"

#include <cstring>
#include <limits>
#include <random>

namespace leat::tar_manifest_test {
namespace {

using namespace leat::test;
using bytes = std::vector<std::byte>;
using entries = std::vector<manifest_entry>;

std::vector<manifest_shard> random_shards(std::mt19937_64& random) {
  std::vector<manifest_shard> shards(random() % 9);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    auto& x = shards[i];
    x.name = std::to_string(i) + random_bytes(random, random() % 30);
    x.version = {random(), static_cast<std::int64_t>(random()),
                 random_bytes(random, random() % 40)};
    x.records = random();
    x.index.resize(random() % 200);
    for (auto& byte : x.index)
      byte = static_cast<std::byte>(random());
  }
  return shards;
}

std::optional<entries> read(const bytes& x) {
  const auto head = manifest_head_bytes(x, x.size());
  if (head == 0 || head > x.size())
    return {};
  return read_manifest_head(std::span{x}.first(head), x.size());
}

template <class T>
void overwrite(bytes& x, std::size_t at, T value) {
  std::memcpy(x.data() + at, &value, sizeof value);
}

/// Makes the checksum that of what is there.
void seal(bytes& x) {
  std::uint64_t head = 0;
  std::memcpy(&head, x.data() + 16, sizeof head);
  if (head >= manifest_prefix_bytes && head <= x.size())
    overwrite(x, 8, xxh3_64(std::span{x}.subspan(16, head - 16)));
}

bytes one_shard() {
  const std::vector<manifest_shard> one{
      {.name = "a.tar",
       .version = {.size = 5, .mtime_ns = object_version::no_time, .tag = "\"t\""},
       .records = 1,
       .index = bytes(24)}};
  return write_manifest(one, "test");
}

TEST_CASE("tar_manifest: what is written is read, each index where its entry says") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const auto shards = random_shards(random);
    const auto all = write_manifest(shards, "test");
    const auto found = read(all);
    REQUIRE(found);
    REQUIRE(found->size() == shards.size());
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const auto& x = (*found)[i];
      CHECK(x.name == shards[i].name);
      CHECK(x.version == shards[i].version);
      CHECK(x.records == shards[i].records);
      CHECK(x.begin % 8 == 0);
      const auto index = std::span{all}.subspan(x.begin, x.bytes);
      CHECK(bytes(index.begin(), index.end()) == shards[i].index);
      CHECK(x.digest == xxh3_128(index));
    }
  }
}

TEST_CASE("tar_manifest: one that is torn anywhere, or longer, is none") {
  std::mt19937_64 random{7};
  auto shards = random_shards(random);
  shards.push_back({.name = "last", .index = bytes(9)});
  const auto all = write_manifest(shards, "test");
  for (std::size_t size = 0; size < all.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(read(bytes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  auto longer = all;
  longer.resize(all.size() + 8);
  CHECK_FALSE(read(longer));
}

TEST_CASE("tar_manifest: every flipped bit of the head is found") {
  const auto all = one_shard();
  const auto head = manifest_head_bytes(all, all.size());
  for (std::size_t i = 0; i < 8 * head; ++i) {
    CAPTURE(i);
    auto flipped = all;
    flipped[i / 8] ^= static_cast<std::byte>(1U << i % 8);
    CHECK_FALSE(read(flipped));
  }
}

TEST_CASE("tar_manifest: sizes, counts and places that nothing has are refused, also when sealed") {
  const auto right = one_shard();
  REQUIRE(read(right));
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  const auto refused = [&](std::size_t at, auto value) {
    CAPTURE(at, value);
    auto forged = right;
    overwrite(forged, at, value);
    seal(forged);
    CHECK_FALSE(read(forged));
  };
  constexpr std::size_t head_at = 16;
  constexpr std::size_t count_at = 32;
  constexpr std::size_t name_at = 40;             // the length of "a.tar"
  constexpr std::size_t tag_at = name_at + 4 + 5; // the length of "\"t\""
  constexpr std::size_t numbers_at = tag_at + 4 + 3;
  constexpr std::size_t begin_at = numbers_at + 5 * 8;
  constexpr std::size_t bytes_at = begin_at + 8;
  for (const auto value : {std::uint64_t{0}, std::uint64_t{39}, std::uint64_t{41},
                           std::uint64_t{1} << 40, huge, huge - 7})
    refused(head_at, value);
  for (const auto value : {std::uint64_t{0}, huge, huge - 1}) // of the object
    refused(head_at + 8, value);
  for (const auto value : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{1} << 60, huge})
    refused(count_at, value);
  for (const std::uint32_t value : {0U, 6U, 5000U, 0xffffffffU})
    refused(name_at, value);
  for (const std::uint32_t value : {2U, 2000U, 0xffffffffU})
    refused(tag_at, value);
  for (const auto value : {std::uint64_t{0}, std::uint64_t{8}, huge, huge - 7})
    refused(begin_at, value);
  for (const auto value : {std::uint64_t{8}, std::uint64_t{25}, huge, huge - 7, huge - 23})
    refused(bytes_at, value);
}

TEST_CASE("tar_manifest: a head of more bytes than any may have is not read") {
  auto x = one_shard();
  constexpr std::uint64_t all = std::uint64_t{1} << 50;
  overwrite(x, 16, std::uint64_t{1} << 40);
  CHECK(manifest_head_bytes(x, all) == 0);
  overwrite(x, 16, std::uint64_t{1} << 20);
  CHECK(manifest_head_bytes(x, all) == std::uint64_t{1} << 20);
  CHECK(manifest_head_bytes(std::span{x}.first(39), all) == 0);
}

TEST_CASE("tar_manifest: names that are too long for one are refused when it is written") {
  const std::vector<manifest_shard> long_name{{.name = std::string(5000, 'n')}};
  check_error([&] { (void)write_manifest(long_name, "s3://b/m"); },
              {.code = errc::invalid_argument, .file = "s3://b/m", .stage = "manifest"});
}

TEST_CASE("tar_manifest: names count from the manifest's folder, so that both can be moved") {
  const std::string at = "s3://b/d/all.leat-manifest";
  const auto there_and_back = [&](const std::string& name) {
    CHECK(name_by_manifest(name_in_manifest(name, at), at) == name);
    return name_in_manifest(name, at);
  };
  CHECK(there_and_back("s3://b/d/x/0.tar") == "x/0.tar");
  CHECK(there_and_back("s3://b/e/0.tar") == "s3://b/e/0.tar");
  CHECK(there_and_back("s3://b/dd/0.tar") == "s3://b/dd/0.tar");
  CHECK(there_and_back("s3://b/d//0.tar") == "s3://b/d//0.tar");
  CHECK(there_and_back("/d/0.tar") == "/d/0.tar");
  CHECK(name_in_manifest("/d/0.tar", "/d/m") == "0.tar");
  CHECK(name_by_manifest("x/0.tar", "s3://other/d/all.leat-manifest") == "s3://other/d/x/0.tar");
}

} // namespace
} // namespace leat::tar_manifest_test
