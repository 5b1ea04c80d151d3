#include "runtime/order/iterators/recalled_records.hpp"
#include "tests/support/test.hpp"

#include <stop_token>

namespace leat::recalled_records_test {
namespace {

/// Content that knows its record.
class content final : public payload {
public:
  explicit content(const stream_record& x) : number(x.number), offset(x.offset) {}

  std::uint64_t number;
  std::uint64_t offset;
};

stream_record record(std::uint64_t number, std::uint64_t offset = 0) {
  return {.number = number, .offset = offset, .length = 1};
}

const content& content_in(const payload_ptr& recalled) {
  const auto x = content_of(recalled, {});
  REQUIRE(dynamic_cast<const content*>(x.get()));
  return static_cast<const content&>(*x);
}

/// A reader that records what it read.
struct noting_reader {
  std::vector<std::uint64_t> read = {};
  std::optional<std::uint64_t> fails_at = {};

  recalled_records::reader function() {
    return [this](const stream_record& x, const std::stop_token&) {
      if (x.number == fails_at)
        throw error(errc::io, {.stage = "read", .got = "a failure"});
      read.push_back(x.number);
      return std::make_shared<const content>(x);
    };
  }
};

} // namespace

TEST_CASE("recalled_records: whatever is asked for first, a unit is read once, in stored order") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  for (int i = 0; i < 200; ++i) {
    noting_reader reader;
    recalled_records records;
    std::vector<std::pair<std::uint64_t, payload_ptr>> held;
    for (std::uint64_t n = 0; n < 40; ++n)
      for (auto copies = random() % 3; copies > 0; --copies)
        held.emplace_back(n, records.add("unit", record(n), reader.function()));
    std::shuffle(held.begin(), held.end(), random);
    std::uint64_t highest = 0;
    for (const auto& [n, x] : held) {
      REQUIRE(content_in(x).number == n);
      highest = std::max(highest, n);
      REQUIRE(reader.read.back() == highest); // no further than was needed
    }
    REQUIRE(std::is_sorted(reader.read.begin(), reader.read.end()));
    REQUIRE(std::adjacent_find(reader.read.begin(), reader.read.end()) == reader.read.end());
  }
}

TEST_CASE("recalled_records: what is dropped is not read, and content lives with its record") {
  noting_reader reader;
  recalled_records records;
  auto first = records.add("unit", record(1), reader.function());
  auto second = records.add("unit", record(2), reader.function());
  const auto third = records.add("unit", record(3), reader.function());
  first.reset();
  CHECK(content_in(third).number == 3);
  CHECK(reader.read == std::vector<std::uint64_t>{2, 3});
  const std::weak_ptr<const payload> of_second = content_of(second, {});
  CHECK_FALSE(of_second.expired());
  second.reset();
  CHECK(of_second.expired());
}

TEST_CASE("recalled_records: records of one number that differ are told apart, and so are units") {
  noting_reader reader;
  recalled_records records;
  const auto a = records.add("unit", record(1, 10), reader.function());
  const auto b = records.add("unit", record(1, 20), reader.function());
  const auto other = records.add("other", record(0, 30), reader.function());
  CHECK(content_in(b).offset == 20);
  CHECK(content_in(a).offset == 10);
  CHECK(reader.read.size() == 2);
  CHECK(content_in(other).offset == 30);
}

TEST_CASE("recalled_records: a failure is thrown at each call that needs what failed") {
  noting_reader reader{.fails_at = 2};
  recalled_records records;
  const auto first = records.add("unit", record(1), reader.function());
  const auto second = records.add("unit", record(2), reader.function());
  const auto third = records.add("unit", record(3), reader.function());
  for (int i = 0; i < 2; ++i) {
    CHECK(code_of([&] { content_of(third, {}); }) == errc::io);
    CHECK(code_of([&] { content_of(second, {}); }) == errc::io);
    CHECK(content_in(first).number == 1);
  }
  reader.fails_at.reset();
  CHECK(content_in(third).number == 3);
  CHECK(content_in(second).number == 2);
}

TEST_CASE("recalled_records: content that no restore has lost is given as it is") {
  const auto travels = std::make_shared<const content>(record(7));
  CHECK(content_of(travels, {}) == travels);
  CHECK(content_of(nullptr, {}) == nullptr);
}

TEST_CASE("recalled_records: many units, added, read and dropped by several threads") {
  recalled_records records;
  std::atomic<int> others = 0;
  const auto use = [&](unsigned seed) {
    std::mt19937 random{seed};
    std::vector<std::pair<std::uint64_t, payload_ptr>> held(20);
    for (int i = 0; i < 3'000; ++i) {
      auto& [n, x] = held[random() % held.size()];
      if (x && static_cast<const content&>(*content_of(x, {})).number != n)
        ++others;
      n = random() % 100;
      x = records.add(std::to_string(random() % 400), record(n),
                      [](const stream_record& wanted, const std::stop_token&) {
                        return std::make_shared<const content>(wanted);
                      });
    }
  };
  std::thread other{use, 1};
  use(2);
  other.join();
  CHECK(others == 0);
}

} // namespace leat::recalled_records_test
