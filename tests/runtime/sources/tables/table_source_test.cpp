// Rows of files that are stored in blocks, read by the test's own reader. The Python tests cover
// pyarrow's, with real files.

#include "runtime/sample/located_records.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/tables/block_cache.hpp"
#include "runtime/storage/object_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/fault_server.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/source.hpp>
#include <leat/sources.hpp>
#include <leat/tables.hpp>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace leat::table_source_test {
namespace {

using test::temporary_directory;

constexpr std::uint64_t rows_per_block = 4;

/// A column of numbers, and one of as many bytes as the number, whose offsets can be damaged.
struct stored_rows {
  std::vector<std::int32_t> numbers;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint8_t> nulls;
  std::string bytes;
};

class fake_reader final : public table_reader {
public:
  table_file open(const std::string& path, const table_options&) const override {
    const auto blocks = static_cast<std::size_t>(path.back() - '0');
    return {std::vector<std::uint64_t>(blocks, rows_said), columns};
  }
  table_block read(const std::string&, std::uint64_t block, const table_options&) const override {
    ++reads;
    if (damage == "bad")
      throw bad_sample(cause::corrupt, "no such page");
    auto rows = std::make_shared<stored_rows>();
    for (std::uint64_t i = 0; i < rows_per_block; ++i) {
      rows->numbers.push_back(static_cast<std::int32_t>(block * rows_per_block + i));
      rows->bytes += std::string(i, 'x');
      rows->offsets.push_back(static_cast<std::int64_t>(rows->bytes.size()));
      rows->nulls.push_back(static_cast<std::uint8_t>(i == null_row ? null_kind : 0));
    }
    if (damage == "beyond")
      rows->offsets.back() += 1;
    if (damage == "back")
      std::swap(rows->offsets[2], rows->offsets[3]);
    if (damage == "before")
      rows->offsets.front() = -1;
    if (damage == "few")
      rows->offsets.pop_back();
    if (damage == "short")
      rows->numbers.pop_back();
    const auto numbers = std::as_bytes(std::span{rows->numbers});
    const auto bytes = std::as_bytes(std::span{rows->bytes});
    table_block x{.rows = rows_per_block + (damage == "more" ? 1 : 0), .bytes = 100};
    x.columns = {
        {.name = "n", .type = dtype::i32, .values = numbers, .nulls = rows->nulls},
        {.name = "b", .kind = column_kind::bytes, .values = bytes, .offsets = rows->offsets},
        {.name = "r",
         .kind = column_kind::ragged,
         .type = dtype::i8,
         .values = bytes,
         .offsets = rows->offsets}};
    x.memory = rows;
    return x;
  }

  std::string damage;
  std::string columns = "n: i32";
  std::uint64_t rows_said = rows_per_block;
  std::uint64_t null_row = rows_per_block;
  int null_kind = 1;
  mutable std::atomic<int> reads = 0;
};

/// Reads files of servers as well: a file's bytes are its rows, four in a block.
class far_reader final : public table_reader {
public:
  table_file open(const std::string& path, const table_options&) const override {
    return described(std::filesystem::file_size(path));
  }
  table_block read(const std::string& path, std::uint64_t block,
                   const table_options&) const override {
    std::ifstream in{path};
    in.seekg(static_cast<std::streamoff>(block * rows_per_block));
    std::string bytes(rows_per_block, '-');
    in.read(bytes.data(), rows_per_block);
    return rows(std::move(bytes));
  }
  table_file open_far(const far_table& file, const table_options&) const override {
    auto x = described(file.size());
    for (std::uint64_t block = 0; block < x.rows_per_block.size(); ++block)
      x.ranges_per_block.push_back({{block * rows_per_block, rows_per_block}});
    return x;
  }
  table_block read_far(const far_table& file, std::uint64_t block,
                       const table_options&) const override {
    std::string bytes(rows_per_block, '-');
    const auto into = std::as_writable_bytes(std::span{bytes});
    const auto at = block * rows_per_block;
    const std::array parts{far_table::part{at + 3, into.subspan(3)},
                           far_table::part{at, into.first(2)},
                           far_table::part{at + 2, into.subspan(2, 1)}};
    file.read(parts);
    return rows(std::move(bytes));
  }

private:
  static table_file described(std::uint64_t size) {
    return {std::vector<std::uint64_t>(size / rows_per_block, rows_per_block), "n: uint8"};
  }
  static table_block rows(std::string bytes) {
    const auto kept = std::make_shared<std::string>(std::move(bytes));
    table_block x{.rows = rows_per_block, .bytes = rows_per_block};
    x.columns = {{.name = "n", .type = dtype::u8, .values = std::as_bytes(std::span{*kept})}};
    x.memory = kept;
    return x;
  }
};

/// Two files, of two blocks and of three.
struct bench {
  bench() {
    for (const auto* name : {"rows-2", "rows-3"})
      std::ofstream{at / name} << "content";
    register_table_reader("parquet", reader);
  }
  pipeline rows(table_options options = {}) const {
    return parquet(at / "rows-*", std::move(options));
  }

  temporary_directory at;
  std::shared_ptr<fake_reader> reader = std::make_shared<fake_reader>();
};

std::shared_ptr<const source> opened(const pipeline& x) {
  return indexed_sources(x).front();
}

struct row {
  std::int32_t number = -1;
  std::string bytes;
  std::string why;
};

row read(const source& data, std::uint64_t record) {
  sample s;
  sample_access::reset(s, nullptr);
  if (const auto problem = bad_sample_of([&] { data.read(record, s); }))
    return {-1, {}, problem->second};
  CHECK(s.is_ragged("r"));
  CHECK(s.shape_of("r") == shape{s.bytes("b").size()});
  return {s.has("n") ? s.get<std::int32_t>("n") : -1, std::string{s.text("b")}, {}};
}

TEST_CASE("rows of all blocks and files come by number, each block decoded once") {
  const bench x;
  const auto data = opened(x.rows());
  REQUIRE(data->size() == 20);
  CHECK(data->records_per_file() == std::vector<std::uint64_t>(5, 4));
  CHECK(data->facts().files == 2);
  CHECK(data->facts().bytes == 14);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto in_file = i < 8 ? i : i - 8;
    const auto found = read(*data, i);
    CHECK(found.number == static_cast<std::int32_t>(in_file));
    CHECK(found.bytes == std::string(i % 4, 'x'));
    std::string id;
    data->append_id(i, id);
    CHECK(id == (i < 8 ? "rows-2/" : "rows-3/") + std::to_string(in_file));
  }
  CHECK(x.reader->reads == 5);
}

TEST_CASE("columns, rows of blocks and sizes of files are parts of the digest") {
  const bench x;
  const auto before = opened(x.rows())->facts().digest;
  CHECK(opened(x.rows({.cache_bytes = 1}))->facts().digest == before);
  x.reader->columns = "n: i64";
  CHECK(opened(x.rows())->facts().digest != before);
  x.reader->columns = "n: i32";
  x.reader->rows_said = 3;
  CHECK(opened(x.rows())->facts().digest != before);
  x.reader->rows_said = rows_per_block;
  CHECK(opened(x.rows())->facts().digest == before);
  std::ofstream{x.at / "rows-2"} << "other content";
  CHECK(opened(x.rows())->facts().digest != before);
}

TEST_CASE("numbers of rows and offsets that cannot be make all rows of the block bad") {
  const bench x;
  for (const auto* damage : {"bad", "beyond", "back", "before", "few", "short", "more"}) {
    INFO(damage);
    x.reader->damage = damage;
    x.reader->reads = 0;
    const auto data = opened(x.rows());
    for (std::uint64_t i = 8; i < 12; ++i)
      CHECK(read(*data, i).why.find("rows-3, block 0: ") != std::string::npos);
    CHECK(x.reader->reads == 1); // the failure is cached like a block
  }
}

std::string numbers_of(const source& data) {
  std::string found;
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    sample s;
    sample_access::reset(s, nullptr);
    data.read(i, s);
    found += static_cast<char>(s.get<std::uint8_t>("n"));
  }
  return found;
}

TEST_CASE("tables on servers are those of files, also from a server that fails now and then") {
  const bench x;
  register_table_reader("parquet", std::make_shared<far_reader>());
  std::ofstream{x.at / "rows-2"} << "abcdefgh";
  std::ofstream{x.at / "rows-3"} << "ijklmnopqrst";
  const test::fault_server server{x.at.path(), [](const auto& request) {
                                    constexpr std::array faults{test::fault::none, test::fault::cut,
                                                                test::fault::busy,
                                                                test::fault::shifted};
                                    return faults[request.number % faults.size()];
                                  }};
  const auto near = opened(x.rows());
  const auto far = opened(parquet(server.url("rows-{2,3}")));
  CHECK(numbers_of(*near) == "abcdefghijklmnopqrst");
  CHECK(numbers_of(*far) == numbers_of(*near));
  CHECK(far->facts().digest == near->facts().digest);
  CHECK(far->facts().bytes == near->facts().bytes);
  CHECK(far->facts().versions.are_known());
  CHECK_FALSE(near->facts().versions.are_known());
  check_error([&] { opened(parquet(server.url("rows-{2,4}"))); },
              {.code = errc::not_found, .file = server.url("rows-4")});
}

TEST_CASE("rows of servers say where their block lies until it is here, and it is fetched once") {
  const bench x;
  register_table_reader("parquet", std::make_shared<far_reader>());
  std::ofstream{x.at / "rows-2"} << "abcdefgh";
  std::ofstream{x.at / "rows-3"} << "ijklmnopqrst";
  const test::fault_server server{x.at.path()};
  using extents = std::vector<extent>;
  const auto at = [](const source& data, std::uint64_t record) {
    extents found;
    auto* const objects = dynamic_cast<const located_records&>(data).locate(record, found);
    return std::pair{objects, found};
  };
  CHECK(at(*opened(x.rows()), 0) == std::pair{static_cast<stored_objects*>(nullptr), extents{}});
  const auto data = opened(parquet(server.url("rows-{2,3}"), {.cache_bytes = 0}));
  const auto [objects, first] = at(*data, 3);
  CHECK(first == extents{{0, 0, 4}});
  CHECK(at(*data, 4).second == extents{{0, 4, 4}});
  CHECK(at(*data, 16).second == extents{{1, 8, 4}});
  const auto expect = [&, to = objects](std::uint64_t record) {
    std::vector<expected_range> ranges;
    for (const auto& y : at(*data, record).second)
      ranges.push_back({y.file, y.offset, y.size});
    to->expect_soon(ranges);
  };
  const auto before = server.requests();
  for (std::uint64_t record = 0; record < data->size(); ++record)
    expect(record);
  CHECK(numbers_of(*data) == "abcdefghijklmnopqrst");
  CHECK(server.requests() == before + 2); // files that are so small are fetched as a whole
  CHECK(at(*data, 19).second.empty());
  CHECK(at(*data, 0).second == first); // it had no room any more
  objects->expect_nothing();
}

TEST_CASE("a reader that opens files by their paths refuses those of servers") {
  const bench x;
  const test::fault_server server{x.at.path()};
  check_error([&] { opened(parquet(server.url("rows-{2,3}"))); },
              {.code = errc::invalid_argument,
               .file = server.url("rows-2"),
               .got = "a file that is not on this machine"});
}

TEST_CASE("a null is a bad sample, or no field") {
  const bench x;
  x.reader->null_row = 2;
  const auto bad = read(*opened(x.rows()), 14);
  CHECK(bad.why.find("column \"n\" is null in row 6 of ") == 0);
  CHECK(bad.why.find("rows-3; needed: a value, or nulls=\"no_field\"") != std::string::npos);
  CHECK(read(*opened(x.rows()), 15).number == 7);
  CHECK(read(*opened(x.rows({.nulls = null_policy::no_field})), 14).number == -1);
  x.reader->null_kind = 2;
  const auto inside = read(*opened(x.rows({.nulls = null_policy::no_field})), 14);
  CHECK(inside.why.find("column \"n\" is a list that contains a null in row 6") == 0);
}

TEST_CASE("formats and columns that cannot be are refused") {
  const bench x;
  const auto wrong = errc::invalid_argument;
  check_error([&] { register_table_reader("orc", x.reader); },
              {.code = wrong, .got = "\"orc\"", .needed_has = "\"parquet\" or \"arrow\""});
  check_error([&] { register_table_reader("arrow", nullptr); },
              {.code = wrong, .got = "no reader"});
  const table_options twice{.columns = {"a", "b", "a"}};
  check_error([&] { x.rows(twice); }, {.code = wrong, .got_has = "columns with \"a\""});
  check_error([&] { opened(arrow(x.at / "rows-*")); },
              {.code = wrong,
               .stage = "arrow",
               .got = "a program that has no reader of such files",
               .needed_has = "a program in Python (leat.arrow, over pyarrow)"});
  CHECK(parse_pipeline(to_string(x.rows({.columns = {"n"}, .nulls = null_policy::no_field})))
        == x.rows({.columns = {"n"}, .nulls = null_policy::no_field}));
}

TEST_CASE("blocks that have no room are dropped, the ones used longest ago first") {
  std::vector<std::uint64_t> decoded;
  const block_cache cache{10, 300, [&](std::uint64_t block) {
                            decoded.push_back(block);
                            return cached_block{{.rows = block, .bytes = 100}, {}};
                          }};
  for (const std::uint64_t block : {0, 1, 2, 0, 3, 0, 1, 3, 2})
    CHECK(cache.get(block)->content.rows == block);
  CHECK(decoded == std::vector<std::uint64_t>{0, 1, 2, 3, 1, 2});
  CHECK(cache.decoded_again() == 2);
}

TEST_CASE("the two blocks used last are kept, however large they are") {
  int decoded = 0;
  const block_cache cache{4, 0, [&](std::uint64_t) {
                            ++decoded;
                            return cached_block{{.bytes = 100}, {}};
                          }};
  for (const std::uint64_t block : {0, 1, 0, 1, 2, 1, 2})
    cache.get(block);
  CHECK(decoded == 3);
}

TEST_CASE("a block that cannot be read is asked for again") {
  bool fails = true;
  const block_cache cache{1, 0, [&](std::uint64_t) -> cached_block {
                            if (std::exchange(fails, false))
                              throw std::runtime_error("no answer");
                            return {{.rows = 7}, {}};
                          }};
  CHECK_THROWS_AS(cache.get(0), std::runtime_error);
  CHECK(cache.get(0)->content.rows == 7);
}

TEST_CASE("threads that need blocks in order decode each once, and the next ones meanwhile") {
  constexpr std::uint64_t blocks = 200;
  std::mutex mutex;
  std::map<std::uint64_t, int> decoded;
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  // With less room, a thread that is slower than others would need a block that is gone.
  constexpr std::uint64_t room = 100 * (blocks + 2);
  const block_cache cache{blocks, room, [&](std::uint64_t block) {
                            const auto running = ++now;
                            for (auto seen = most.load(); seen < running;)
                              most.compare_exchange_weak(seen, running);
                            std::this_thread::sleep_for(std::chrono::microseconds{200});
                            --now;
                            const std::lock_guard lock{mutex};
                            ++decoded[block];
                            return cached_block{{.rows = block, .bytes = 100}, {}};
                          }};
  std::atomic<std::uint64_t> next = 0;
  std::atomic<int> wrong = 0;
  test::in_threads(4, [&](unsigned) {
    for (auto row = next++; row < blocks * 16; row = next++)
      wrong += cache.get(row / 16)->content.rows == row / 16 ? 0 : 1;
  });
  CHECK(wrong == 0);
  CHECK(decoded.size() == blocks);
  CHECK(cache.decoded_again() == 0);
  CHECK(most >= 2);
}

TEST_CASE(
    "threads that need any blocks get the right ones, and an error reaches the one that met it") {
  std::atomic<int> calls = 0;
  const block_cache cache{30, 500, [&](std::uint64_t block) -> cached_block {
                            if (++calls % 7 == 0)
                              throw std::runtime_error("no answer");
                            return {{.rows = block, .bytes = 100}, {}};
                          }};
  std::atomic<int> wrong = 0;
  test::in_threads(4, [&](unsigned seed) {
    std::mt19937 draw{seed};
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t block = draw() % 30;
      try {
        wrong += cache.get(block)->content.rows == block ? 0 : 1;
      } catch (const std::runtime_error&) {
      }
    }
  });
  CHECK(wrong == 0);
}

} // namespace
} // namespace leat::table_source_test
