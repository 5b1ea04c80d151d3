#include "runtime/storage/cache/block_file.hpp"
#include "tests/support/block_files.hpp"
#include "tests/support/test.hpp"

namespace leat::block_file_test {
namespace {

using namespace leat::test;

const block_id id{{0x1234567890abcdefU, 0xfedcba0987654321U}, 17};

std::span<const std::byte> raw(const std::string& x) {
  return std::as_bytes(std::span{x});
}

TEST_CASE("block file: a header has the checksums of its block, and of no other") {
  for (const std::size_t size : {1, 16'383, 16'384, 16'385, 100'000, 1 << 20}) {
    CAPTURE(size);
    const auto block = made_block(size, size);
    const auto header = block_header(id, block);
    CHECK(header.size() == block_header_bytes);
    const auto checks = block_checks::read(raw(header), id, size);
    REQUIRE(checks);
    for (std::size_t i = 0; i * block_chunk_bytes < size; ++i) {
      auto chunk = std::vector(
          block.begin() + static_cast<std::ptrdiff_t>(i * block_chunk_bytes),
          block.begin() + static_cast<std::ptrdiff_t>(std::min(size, (i + 1) * block_chunk_bytes)));
      CHECK(checks->fit(i, chunk));
      CHECK_FALSE(checks->fit(i + 1, chunk));
      CHECK_FALSE(checks->fit(1000, chunk));
      chunk[chunk.size() / 2] ^= std::byte{4};
      CHECK_FALSE(checks->fit(i, chunk));
    }
    CHECK_FALSE(block_checks::read(raw(header), {id.key, 18}, size));
    CHECK_FALSE(block_checks::read(raw(header), {{id.key.low, 5}, 17}, size));
    CHECK_FALSE(block_checks::read(raw(header), id, size + 1));
    CHECK_FALSE(block_checks::read(raw(header), id, 0));
  }
}

TEST_CASE("block file: every flipped bit of a header is found, and every cut") {
  const auto block = made_block(1, 40'000);
  const auto header = block_header(id, block);
  for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
    auto damaged = header;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (block_checks::read(raw(damaged), id, block.size()))
      FAIL("bit " << bit);
  }
  for (std::size_t size = 0; size < header.size(); ++size)
    if (block_checks::read(raw(header).first(size), id, block.size()))
      FAIL("cut at " << size);
}

TEST_CASE("block id: names are read as they are written, and nothing else is") {
  for (const bool is_part : {false, true}) {
    const block_name name{id, is_part};
    const auto text = name_of(name);
    CHECK(text
          == "fedcba09876543211234567890abcdef-17" + std::string{is_part ? ".part" : ".block"});
    CHECK(parse_block_name(text) == name);
    for (const auto& other : {text + "x", "x" + text, text.substr(1), text.substr(0, 20),
                              text.substr(0, 33), std::string{}, std::string{"count"}})
      CHECK_FALSE(parse_block_name(other));
  }
  CHECK(folder_of(id) == "fe");
  CHECK_FALSE(parse_block_name("fedcba09876543211234567890abcdef-017.block"));
  CHECK_FALSE(parse_block_name("FEDCBA09876543211234567890abcdef-17.block"));
  CHECK_FALSE(parse_block_name("fedcba09876543211234567890abcdef-99999999999999999999.block"));
}

TEST_CASE(
    "block key: another place, name, size or ETag is another object, and a weak one is none") {
  using kind = object_pin::kind;
  const object_pin pin{100, kind::etag, "\"a\""};
  const auto key = block_key("https://h", "https://h/x", pin);
  REQUIRE(key);
  CHECK(block_key("https://h", "https://h/x", pin) == key);
  CHECK(block_key("https://i", "https://h/x", pin) != key);
  CHECK(block_key("https://h", "https://h/y", pin) != key);
  CHECK(block_key("https://hh", "ttps://h/x", pin) != key);
  CHECK(block_key("https://h", "https://h/x", {101, kind::etag, "\"a\""}) != key);
  CHECK(block_key("https://h", "https://h/x", {100, kind::etag, "\"b\""}) != key);
  CHECK(block_key("https://h", "https://h/x", {100, kind::generation, "\"a\""}) != key);
  CHECK(block_key("https://h", "https://h/x", {100, kind::generation, "5"})
        != block_key("https://h", "https://h/x", {100, kind::generation, "6"}));
  CHECK_FALSE(block_key("https://h", "https://h/x", {100, kind::generation, ""}));
  CHECK_FALSE(block_key("https://h", "https://h/x", {100, kind::last_modified, "Mon"}));
  CHECK_FALSE(block_key("https://h", "https://h/x", {100, kind::none, ""}));
}

} // namespace
} // namespace leat::block_file_test
