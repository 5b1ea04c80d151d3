#include "runtime/rows/batch_memory.hpp"
#include "runtime/rows/ragged_rows.hpp"
#include "tests/support/test.hpp"

namespace leat::ragged_rows_test {
namespace {

void write(const ragged_row& row, const std::string& text) {
  row.assign(std::as_bytes(std::span{text.data(), text.size()}));
}

std::string joined(ragged_rows& rows) {
  const auto all = rows.join();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

TEST_CASE("ragged rows: however threads share a batch, its rows are joined in order") {
  std::mt19937_64 random{static_cast<std::uint64_t>(Catch::rngSeed())};
  constexpr std::size_t rows = 12;
  ragged_rows data{rows};
  for (int batch = 0; batch < 2000; ++batch) {
    CAPTURE(batch);
    data.begin();
    std::vector<std::string> want(rows);
    const auto made = random() % (rows + 1);
    auto follow = random() % 4 == 0 ? made : random() % (made + 1);
    std::vector<std::size_t> order(made);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Rows that follow one another are made in order, the others at any time.
    std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(follow), order.end(), random);
    for (std::size_t k = 0; k < made; ++k) {
      const auto row = order[k];
      for (auto tries = 1 + random() % 2; tries > 0; --tries) { // a substitute writes it again
        const auto target = data.target(row, row < follow);
        write(target, std::string(random() % 30, static_cast<char>('a' + random() % 26)));
        want[row].clear();
        if (random() % 6 == 0) // a bad sample
          continue;
        target.complete();
        want[row] = {reinterpret_cast<const char*>(target.bytes().data()), target.bytes().size()};
      }
      if (random() % 9 == 0)
        want[row].clear(); // bad although it was complete
    }
    for (auto again = random() % 3; made > 0 && again > 0; --again) { // once all others are made
      const auto row = random() % made;
      const auto target = data.target(row, row == 0 && made > 1 && follow > 1);
      write(target, std::string(random() % 60, 'Z'));
      target.complete();
      want[row] = {reinterpret_cast<const char*>(target.bytes().data()), target.bytes().size()};
      const auto found = data.row(row);
      CHECK(std::equal(found.begin(), found.end(), target.bytes().begin(), target.bytes().end()));
    }
    std::string all;
    for (std::size_t i = 0; i < rows; ++i) {
      if (want[i].empty()) // as is done for all rows without a sample
        data.clear(i);
      CHECK(data.size_of(i) == want[i].size());
      all += want[i];
    }
    CHECK(data.bytes() == all.size());
    REQUIRE(joined(data) == all);
  }
}

TEST_CASE("ragged rows: what one thread makes from the first row on is not copied") {
  ragged_rows data{3};
  for (const std::string text : {"a first batch", "bc"}) {
    data.begin();
    for (std::size_t i = 0; i < 3; ++i) {
      const auto row = data.target(i, true);
      write(row, text + std::to_string(i));
      row.complete();
    }
    const auto* const begin = data.target(2, true).bytes().data() - 2 * (text.size() + 1);
    write(data.target(2, true), text + "2");
    data.target(2, true).complete();
    data.clear(2);
    const auto all = data.join();
    CHECK(all.data() == begin);
    CHECK(all.size() == 2 * (text.size() + 1));
  }
}

TEST_CASE("ragged rows: a thread's rows follow only in the same batch, without a gap") {
  auto layout = std::make_shared<const batch_layout>(
      std::vector<field_layout>{{.name = "a", .ragged = true}});
  batch_memory memory{layout, 4};
  batch_memory other{layout, 4};
  row_places mine;
  row_places yours;
  const auto follows = [](row_places& places, batch_memory& in, std::size_t row) {
    return places.at(in, row).ragged[0].end != nullptr;
  };
  memory.begin_rows();
  other.begin_rows();
  CHECK(follows(mine, memory, 0));
  CHECK(follows(mine, memory, 1));
  CHECK_FALSE(follows(yours, memory, 2));
  CHECK_FALSE(follows(mine, memory, 3));
  memory.begin_rows();
  CHECK(follows(yours, memory, 0));
  CHECK_FALSE(follows(mine, memory, 1)); // after the last batch's row 0
  CHECK(follows(yours, memory, 1));
  CHECK_FALSE(follows(yours, other, 2)); // of another batch
  CHECK_FALSE(follows(yours, memory, 2));
  CHECK(follows(yours, other, 0));
  other.begin_rows();
  CHECK_FALSE(follows(yours, other, 1)); // the slot's next batch
}

} // namespace
} // namespace leat::ragged_rows_test
