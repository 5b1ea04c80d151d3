#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/tokens/megatron_index.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/megatron_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace leat::megatron_test {
namespace {

using namespace leat::test;

/// Three documents; the first has two sequences, and the second one has none.
megatron_writer small() {
  megatron_writer x{dtype::u16};
  x.document({"aabb", "cc"}).document({}).document({"ddeeff"});
  return x;
}

std::string text_of(const source& data, std::uint64_t record) {
  sample s;
  sample_access::reset(s, nullptr);
  data.read(record, s);
  return std::string{s.text("tokens")};
}

TEST_CASE("megatron: records are documents, with all of their sequences") {
  const temporary_directory dir;
  small().save(dir / "x");
  const auto job = megatron(dir / "x");
  const auto& data = source_of(job);
  REQUIRE(data.size() == 3);
  CHECK(text_of(data, 0) == "aabbcc");
  CHECK(text_of(data, 1).empty());
  CHECK(text_of(data, 2) == "ddeeff");
  sample s;
  data.read(2, s);
  CHECK(s.is_ragged("tokens"));
  CHECK(s.view<std::uint16_t, 1>("tokens").size() == 3);
  CHECK(sample_access::take_bytes_read(s) == 6);
  std::string id;
  data.append_id(2, id);
  CHECK(id == "x/2");
  CHECK(data.facts().bytes == 12);
}

TEST_CASE("megatron: several data sets follow one another, by prefix or by the name of a file") {
  const temporary_directory dir;
  small().save(dir / "a");
  megatron_writer{dtype::u16}.document({"zz"}).save(dir / "b");
  const auto first = source_of(megatron(dir / "*")).facts();
  for (const auto& names : {std::vector<std::string>{dir / "a", dir / "b"},
                            {dir / "a.bin", dir / "b.idx"},
                            {dir / "{a,b}"}}) {
    const auto job = megatron(names);
    const auto& data = source_of(job);
    CHECK(data.facts() == first);
    REQUIRE(data.size() == 4);
    CHECK(data.records_per_file() == std::vector<std::uint64_t>{3, 1});
    CHECK(text_of(data, 3) == "zz");
    std::string id;
    data.append_id(3, id);
    CHECK(id == "b/0");
  }
  megatron_writer{dtype::i32}.document({"zzzz"}).save(dir / "c");
  check_error([&] { source_of(megatron(dir / "?")); },
              {.code = errc::invalid_argument, .file = dir / "c.idx"});
  std::filesystem::remove(dir / "b.bin");
  CHECK(code_of([&] { source_of(megatron(dir / "b")); }) == errc::not_found);
  CHECK(code_of([&] { source_of(megatron(dir / "none")); }) == errc::not_found);
}

TEST_CASE("megatron: every type of tokens") {
  const temporary_directory dir;
  for (const auto type : {dtype::u8, dtype::i8, dtype::i16, dtype::i32, dtype::i64, dtype::u16}) {
    megatron_writer{type}.document({std::string(3 * size_of(type), 'x')}).save(dir / "x");
    const auto job = megatron(dir / "x");
    sample s;
    source_of(job).read(0, s);
    if (type == dtype::u8)
      CHECK(s.is_bytes("tokens"));
    else
      CHECK(s.type_of("tokens") == type);
  }
}

TEST_CASE("megatron: random data sets are read as they were written") {
  std::mt19937_64 random{7};
  const temporary_directory dir;
  for (int round = 0; round < 20; ++round) {
    megatron_writer writer{dtype::i32};
    std::vector<std::string> documents;
    for (auto n = random() % 300; n > 0; --n) {
      std::vector<std::string> sequences(random() % 4);
      documents.emplace_back();
      for (auto& x : sequences) {
        x = std::string(4 * (random() % 20), static_cast<char>(random()));
        documents.back() += x;
      }
      writer.document(sequences);
    }
    writer.save(dir / "x");
    const auto job = megatron(dir / "x");
    const auto& data = source_of(job);
    REQUIRE(data.size() == documents.size());
    for (std::uint64_t i = 0; i < documents.size(); ++i)
      REQUIRE(text_of(data, i) == documents[i]);
  }
}

/// What is wrong with an index, and what is said of it at which offset.
struct damage {
  std::function<void(megatron_writer&)> by;
  std::uint64_t offset;
  std::string got;
  errc code = errc::torn_file;
};

TEST_CASE("megatron: an index that is forged in any place is refused, with that place") {
  const temporary_directory dir;
  // 34 bytes of header; lengths from 34, offsets from 46, bounds from 70 on.
  const auto wrong = errc::invalid_argument;
  const std::vector<damage> all{
      {[](auto& x) { x.version = 2; }, 9, "version 2", wrong},
      {[](auto& x) { x.code = 6; }, 17, "type code 6", wrong},
      {[](auto& x) { x.code = 0; }, 17, "type code 0", wrong},
      {[](auto& x) { x.lengths[1] = -1; }, 38, "sequence 1 with -1 tokens"},
      {[](auto& x) { x.lengths[2] = INT32_MAX; }, 42, "sequence 2 with 2147483647 tokens"},
      {[](auto& x) { x.lengths[0] = 1; }, 54, "sequence 1 at byte 4"},
      {[](auto& x) { x.lengths[2] = 2; }, 102, "10 bytes in all"},
      {[](auto& x) { x.offsets[0] = -2; }, 46, "sequence 0 at byte -2"},
      {[](auto& x) { x.offsets[1] = INT64_MIN; }, 54, "sequence 1 at byte -9223372036854775808"},
      {[](auto& x) { x.offsets[2] = INT64_MAX; }, 62, "sequence 2 at byte 9223372036854775807"},
      {[](auto& x) { x.bounds[0] = 1; }, 70, "document 0 from sequence 1"},
      {[](auto& x) { x.bounds[2] = 1; }, 86, "document 1 to sequence 1"},
      {[](auto& x) { x.bounds[1] = -1; }, 78, "document 0 to sequence -1"},
      {[](auto& x) { x.bounds[3] = 4; }, 94, "document 2 to sequence 4"},
      {[](auto& x) { x.bounds[3] = 2; }, 94, "a last document to sequence 2"},
      {[](auto& x) { x.bounds = {0}; }, 70, "no document"},
      {[](auto& x) { x.bounds = {}; }, 26, "0 bounds"},
  };
  for (const auto& x : all) {
    auto forged = small();
    x.by(forged);
    forged.save(dir / "x");
    check_error([&] { source_of(megatron(dir / "x")); },
                {.code = x.code, .file = dir / "x.idx", .offset = x.offset, .got_has = x.got});
  }
}

/// The error of reading these bytes as an index of the small data.
std::optional<error> problem_with(const std::string& index, std::uint64_t data_bytes = 12) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
    REQUIRE(offset + into.size() <= index.size());
    std::memcpy(into.data(), index.data() + offset, into.size());
  };
  return problem_of([&] {
    megatron_index(
        {.index = "x.idx", .index_bytes = index.size(), .data = "x.bin", .data_bytes = data_bytes},
        read);
  });
}

TEST_CASE("megatron: an index that is cut short anywhere, or has other counts, is refused") {
  const auto whole = small().index();
  CHECK_FALSE(problem_with(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    REQUIRE(problem_with(whole.substr(0, size)));
  }
  CHECK(problem_with(whole + "x"));
  CHECK(problem_with("leattar3" + whole.substr(8))->code() == errc::invalid_argument);
  for (const std::size_t count_at : {18, 26})
    for (std::size_t byte = 0; byte < 8; ++byte)
      for (const char with : {'\x01', '\x80', '\xFF'}) {
        auto forged = whole;
        forged[count_at + byte] = static_cast<char>(forged[count_at + byte] ^ with);
        REQUIRE(problem_with(forged));
      }
  const auto modes = problem_with(whole + std::string(3, '\0'));
  REQUIRE(modes);
  CHECK(modes->details().got.find("multimodal") != std::string::npos);
}

TEST_CASE("megatron: the data must have exactly the bytes that the index says") {
  const auto index = small().index();
  for (const std::uint64_t bytes : {0, 1, 11, 13, 14}) {
    CAPTURE(bytes);
    const auto problem = problem_with(index, bytes);
    REQUIRE(problem);
    CHECK(problem->code() == errc::torn_file);
  }
}

} // namespace
} // namespace leat::megatron_test
