#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/tokens/token_windows.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/npy_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace leat::token_sources_test {
namespace {

using namespace leat::test;

template <class T>
std::string bytes_of(const std::vector<T>& xs) {
  return {reinterpret_cast<const char*>(xs.data()), xs.size() * sizeof(T)};
}

/// `n` tokens from `first` on.
template <class T>
std::string tokens_from(T first, std::size_t n) {
  std::vector<T> xs(n);
  std::iota(xs.begin(), xs.end(), first);
  return bytes_of(xs);
}

template <class T>
std::vector<T> tokens_in(const source& data, std::uint64_t record) {
  sample s;
  sample_access::reset(s, nullptr);
  data.read(record, s);
  const auto view = s.view<T, 1>("tokens").flat();
  return {view.begin(), view.end()};
}

std::string id_in(const source& data, std::uint64_t record) {
  std::string id;
  data.append_id(record, id);
  return id;
}

error_details refused(const pipeline& x, errc code = errc::invalid_argument) {
  const auto problem = problem_of([&] { source_of(x); });
  REQUIRE(problem);
  CHECK(problem->code() == code);
  return problem->details();
}

TEST_CASE("tokens: windows stand one after the other in every file, and never cross files") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.bin", tokens_from<std::uint16_t>(100, 11));
  tar_writer::write(dir / "b.bin", tokens_from<std::uint16_t>(200, 3));
  tar_writer::write(dir / "c.bin", tokens_from<std::uint16_t>(300, 8));
  const auto job = tokens(dir / "{a,b,c}.bin", dtype::u16, 4);
  const auto& data = source_of(job);
  REQUIRE(data.size() == 4);
  CHECK(data.records_per_file() == std::vector<std::uint64_t>{2, 0, 2});
  using row = std::vector<std::uint16_t>;
  CHECK(tokens_in<std::uint16_t>(data, 0) == row{100, 101, 102, 103});
  CHECK(tokens_in<std::uint16_t>(data, 1) == row{104, 105, 106, 107});
  CHECK(tokens_in<std::uint16_t>(data, 3) == row{304, 305, 306, 307});
  CHECK(id_in(data, 1) == "a.bin/1");
  CHECK(id_in(data, 2) == "c.bin/0");
  const auto facts = data.facts();
  CHECK(facts.files == 3);
  CHECK(facts.records == 4);
  CHECK(facts.bytes == 44);
  sample s;
  data.read(0, s);
  CHECK_FALSE(s.is_ragged("tokens"));
  CHECK(sample_access::take_bytes_read(s) == 8);
}

TEST_CASE("tokens: a stride below the length makes windows overlap, for labels") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.bin", tokens_from<std::int32_t>(0, 13));
  const auto job = tokens(dir / "a.bin", dtype::i32, 5, {.stride = 4});
  const auto& data = source_of(job);
  REQUIRE(data.size() == 3);
  CHECK(tokens_in<std::int32_t>(data, 1) == std::vector<std::int32_t>{4, 5, 6, 7, 8});
  CHECK(tokens_in<std::int32_t>(data, 2) == std::vector<std::int32_t>{8, 9, 10, 11, 12});
}

TEST_CASE("tokens: without drop_last every token is in a window, and the field is ragged") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.bin", tokens_from<std::int64_t>(0, 6));
  tar_writer::write(dir / "b.bin", tokens_from<std::int64_t>(10, 4));
  tar_writer::write(dir / "c.bin", "");
  const auto job = tokens(dir / "?.bin", dtype::i64, 4, {.drop_last = false});
  const auto& data = source_of(job);
  CHECK(data.records_per_file() == std::vector<std::uint64_t>{2, 1, 0});
  CHECK(tokens_in<std::int64_t>(data, 1) == std::vector<std::int64_t>{4, 5});
  CHECK(tokens_in<std::int64_t>(data, 2) == std::vector<std::int64_t>{10, 11, 12, 13});
  sample s;
  data.read(2, s);
  CHECK(s.is_ragged("tokens"));
}

/// Lists windows one by one: each begins at a multiple of the stride, and the last is the one that
/// reaches the end.
std::vector<token_window> windows_one_by_one(std::uint64_t tokens, std::uint64_t length,
                                             std::uint64_t stride, bool drop_last) {
  std::vector<token_window> all;
  for (std::uint64_t begin = 0; begin < tokens; begin += stride) {
    const auto n = std::min(length, tokens - begin);
    if (n == length || !drop_last)
      all.push_back({0, begin, n});
    if (begin + length >= tokens)
      break;
  }
  return all;
}

TEST_CASE("tokens: the number of windows and each window are those of counting one by one") {
  for (std::uint64_t tokens = 0; tokens < 26; ++tokens)
    for (std::uint64_t length = 1; length < 9; ++length)
      for (std::uint64_t stride = 1; stride < 12; ++stride)
        for (const bool drop_last : {true, false}) {
          CAPTURE(tokens, length, stride, drop_last);
          const auto want = windows_one_by_one(tokens, length, stride, drop_last);
          const token_windows x{
              {"a"}, {tokens}, length, {.stride = stride, .drop_last = drop_last}};
          REQUIRE(x.size() == want.size());
          for (std::uint64_t i = 0; i < want.size(); ++i) {
            REQUIRE(x.at(i).begin == want[i].begin);
            REQUIRE(x.at(i).length == want[i].length);
          }
        }
}

TEST_CASE("tokens: the largest files and strides overflow nothing") {
  constexpr auto most = std::uint64_t{1} << 62;
  const token_windows all{{"a"}, {most - 1}, 1, {}};
  CHECK(all.size() == most - 1);
  CHECK(all.at(most - 2).begin == most - 2);
  const token_windows one{{"a"}, {most}, 7, {.stride = most, .drop_last = false}};
  CHECK(one.size() == 1);
  const token_windows two{{"a"}, {most}, 7, {.stride = most - 3, .drop_last = false}};
  CHECK(two.size() == 2);
  CHECK(two.at(1).length == 3);
  CHECK(code_of([&] { token_windows({"a", "b"}, {most, most}, 1, {}); }) == errc::invalid_argument);
}

TEST_CASE("tokens: drawn windows depend on the seed and their number, and are spread evenly") {
  const std::vector<std::uint64_t> tokens{10, 2, 7};
  const token_windows x{{"a", "b", "c"}, tokens, 3, {.random_windows = 60'000, .seed = 5}};
  REQUIRE(x.size() == 60'000);
  CHECK(x.per_file() == std::vector<std::uint64_t>{60'000});
  std::map<std::pair<std::size_t, std::uint64_t>, int> counts;
  for (std::uint64_t i = 0; i < x.size(); ++i) {
    const auto at = x.at(i);
    REQUIRE(at.length == 3);
    REQUIRE(at.begin + 3 <= tokens[at.file]);
    ++counts[{at.file, at.begin}];
  }
  REQUIRE(counts.size() == 8 + 5);
  for (const auto& [place, n] : counts)
    CHECK(std::abs(n - 60'000 / 13) < 400);
  const token_windows same{{"a", "b", "c"}, tokens, 3, {.random_windows = 10, .seed = 5}};
  const token_windows other{{"a", "b", "c"}, tokens, 3, {.random_windows = 10, .seed = 6}};
  int differences = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK(same.at(i).begin == x.at(i).begin);
    CHECK(same.at(i).file == x.at(i).file);
    differences += other.at(i).begin != x.at(i).begin || other.at(i).file != x.at(i).file ? 1 : 0;
  }
  CHECK(differences > 3);
  std::string id;
  x.append_id(7, id);
  const std::string names[] = {"a", "b", "c"};
  CHECK(id == names[x.at(7).file] + "/@" + std::to_string(x.at(7).begin) + "/7");
}

TEST_CASE("tokens: what does not fit is refused by name") {
  const temporary_directory dir;
  tar_writer::write(dir / "odd.bin", "12345");
  tar_writer::write(dir / "short.bin", "1234");
  CHECK(refused(tokens(dir / "odd.bin", dtype::u16, 2)).got == "5 bytes");
  CHECK(refused(tokens(dir / "short.bin", dtype::u16, 3, {.random_windows = 1})).got
        == "files of at most 2 tokens");
  CHECK(source_of(tokens(dir / "short.bin", dtype::u16, 3)).size() == 0);
  refused(tokens(dir / "none.bin", dtype::u16, 3), errc::not_found);
  const auto check = [&](dtype type, std::uint64_t length, const token_options& options) {
    CHECK(code_of([&] { tokens("x", type, length, options); }) == errc::invalid_argument);
  };
  check(dtype::f32, 4, {});
  check(dtype::bf16, 4, {});
  check(dtype::u16, 0, {});
  check(dtype::u16, (std::uint64_t{1} << 30) + 1, {});
  check(dtype::u16, 4, {.stride = 4, .random_windows = 2});
  check(dtype::u16, 4, {.drop_last = false, .random_windows = 2});
  check(dtype::u16, 4, {.random_windows = (std::uint64_t{1} << 62) + 1});
}

TEST_CASE("tokens: a file that was cut short after the opening is an error that names it") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.bin", tokens_from<std::uint16_t>(0, 4000));
  const auto job = tokens(dir / "a.bin", dtype::u16, 100);
  const auto& data = source_of(job);
  CHECK(tokens_in<std::uint16_t>(data, 39)[99] == 3999);
  std::filesystem::resize_file(dir / "a.bin", 7900);
  check_error([&] { tokens_in<std::uint16_t>(data, 39); },
              {.code = errc::torn_file,
               .file = dir / "a.bin",
               .got = "the end of the file after 100 bytes of it",
               .needed = "200 bytes: the file has become shorter since it was opened"});
  CHECK(tokens_in<std::uint16_t>(data, 38)[99] == 3899);
}

TEST_CASE("tokens: arrays of NumPy are files of tokens") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.npy", npy_bytes("<i4", "(9,)", tokens_from<std::int32_t>(50, 9)));
  tar_writer::write(dir / "b.bin", tokens_from<std::int32_t>(0, 4));
  const auto job = tokens(std::vector<std::string>{dir / "b.bin", dir / "a.npy"}, dtype::i32, 4);
  const auto& data = source_of(job);
  REQUIRE(data.size() == 3);
  CHECK(tokens_in<std::int32_t>(data, 2) == std::vector<std::int32_t>{54, 55, 56, 57});
  CHECK(refused(tokens(dir / "a.npy", dtype::u16, 4)).got == "an array of i32 and rank 1");
  tar_writer::write(dir / "c.npy", npy_bytes("<i4", "(3, 3)", tokens_from<std::int32_t>(50, 9)));
  CHECK(refused(tokens(dir / "c.npy", dtype::i32, 4)).got == "an array of i32 and rank 2");
}

TEST_CASE("tokens: a file without a header may be called npy") {
  const temporary_directory dir;
  tar_writer::write(dir / "a.npy", tokens_from<std::int32_t>(7, 9));
  const auto job = tokens(dir / "a.npy", dtype::i32, 4);
  const auto& data = source_of(job);
  REQUIRE(data.size() == 2);
  CHECK(tokens_in<std::int32_t>(data, 0) == std::vector<std::int32_t>{7, 8, 9, 10});
  CHECK(refused(npy(dir / "a.npy")).needed.find("tokens(\"" + (dir / "a.npy") + "\"")
        != std::string::npos);
}

TEST_CASE("npy: records lie along the first axis of several arrays") {
  const temporary_directory dir;
  std::vector<float> xs(24);
  std::iota(xs.begin(), xs.end(), 0.F);
  tar_writer::write(dir / "a.npy", npy_bytes("<f4", "(2, 3, 2)", bytes_of(xs).substr(0, 48)));
  tar_writer::write(dir / "b.npy", npy_bytes("<f4", "(1, 3, 2)", bytes_of(xs).substr(48, 24), 2));
  tar_writer::write(dir / "c.npy", npy_bytes("<f4", "(0, 3, 2)", "", 3));
  const auto job = npy(dir / "*.npy");
  const auto& data = source_of(job);
  REQUIRE(data.size() == 3);
  CHECK(data.records_per_file() == std::vector<std::uint64_t>{2, 1, 0});
  sample s;
  data.read(2, s);
  CHECK(s.shape_of("value") == shape{3, 2});
  CHECK(s.view<float, 2>("value")(2, 1) == 17);
  CHECK(id_in(data, 2) == "b.npy/0");
  tar_writer::write(dir / "d.npy", npy_bytes("<f4", "(1, 2, 3)", bytes_of(xs).substr(0, 24)));
  const auto problem = refused(npy(dir / "*.npy"));
  CHECK(problem.file == dir / "d.npy");
  CHECK(problem.got == "records of f32 [2, 3]");
}

TEST_CASE("npy: numbers of rank 1, of every type") {
  const temporary_directory dir;
  const std::map<std::string, dtype> types{
      {"|b1", dtype::u8},  {"|u1", dtype::u8},  {"|i1", dtype::i8},  {"<u2", dtype::u16},
      {"<i2", dtype::i16}, {"<u4", dtype::u32}, {"<i4", dtype::i32}, {"<u8", dtype::u64},
      {"<i8", dtype::i64}, {"<f2", dtype::f16}, {"<f4", dtype::f32}, {"<f8", dtype::f64}};
  for (const auto& [descr, type] : types) {
    CAPTURE(descr);
    tar_writer::write(dir / "x.npy", npy_bytes(descr, "(3,)", std::string(3 * size_of(type), 'x')));
    const auto job = npy(dir / "x.npy");
    REQUIRE(job.size() == 3);
    sample s;
    source_of(job).read(1, s);
    CHECK(s.type_of("value") == type);
    CHECK(s.shape_of("value") == shape{});
  }
}

TEST_CASE("npy: everything else is refused by name") {
  const temporary_directory dir;
  const auto check = [&](const std::string& bytes, const std::string& part,
                         errc code = errc::invalid_argument) {
    tar_writer::write(dir / "x.npy", bytes);
    const auto details = refused(npy(dir / "x.npy"), code);
    CHECK(details.file == dir / "x.npy");
    CHECK(details.stage == "npy");
    CAPTURE(details.got, details.needed, part);
    CHECK((details.got + "; " + details.needed).find(part) != std::string::npos);
  };
  const std::string eight = "12345678";
  check("text", "NumPy's first bytes");
  check("", "NumPy's first bytes");
  check(npy_bytes("<i4", "(2,)", eight, 4), "format 4.0");
  check(npy_bytes("<i4", "(1, 2)", eight, 1, "True"), "Fortran's order");
  check(npy_bytes("<i4", "()", eight.substr(0, 4)), "rank 0");
  check(npy_bytes("<i4", "(2, 0)", ""), "1 to 2^31 bytes");
  check(npy_bytes("<i4", "(2,)", eight, 1, "0"), "True or False");
  check(npy_bytes("<i4", "(2,)", eight + "9"), "1 bytes after the array");
  using row = std::array<std::string, 3>;
  for (const auto& [type, dims, part] :
       {row{">i4", "(2,)", "\">i4\""}, row{"|O", "(2,)", "\"|O\""},
        row{"<i4", "(1, 1, 1, 1, 1, 1, 1, 2)", "rank 8"},
        row{"<i4", "(1, 4294967296, 4294967296)", "1 to 2^31 bytes"},
        row{"<i4", "(18446744073709551616,)", "an extent below 2^64"},
        row{"<i4", "(-1,)", "an extent below 2^64"}, row{"<i4", "(2)", "no tuple"},
        row{"<i4", "(2 1,)", "',' or ')'"}, row{"<i4", "(2,), 'more': 1", "the key \"more\""},
        row{"<i4", "(2,), 'shape': (2,)", "the key \"shape\""},
        row{"<i4', 'shape': (2,)} #", "(2,)", "after the header's }"}})
    check(npy_bytes(type, dims, eight), part);
  for (const auto* dims : {"(3,)", "(18446744073709551615,)"})
    check(npy_bytes("<i4", dims, eight), "cut short", errc::torn_file);
  const auto whole = npy_bytes("<i4", "(2,)", eight);
  for (std::size_t size = 6; size < whole.size(); ++size)
    check(whole.substr(0, size), "", errc::torn_file);
  auto long_header = npy_bytes("<i4", "(2,)", eight, 2);
  long_header[10] = 1; // 65536 bytes more
  check(long_header, "at most 65535");
}

} // namespace
} // namespace leat::token_sources_test
