#include "runtime/sources/sequential_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream_places.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/streams.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace leat::sequential_source_test {

using namespace leat::test;

namespace {

using samples = std::vector<stream_sample>;

/// Counts what readers did, over all units.
struct counters {
  std::atomic<int> opened = 0;
  std::atomic<int> made = 0;
};

/// Counts from 10 * unit on: `length` records, each with fields of all kinds.
class counting : public sequential_reader {
public:
  counting(std::uint64_t unit, int length, counters& count)
      : at_(static_cast<int>(10 * unit)), end_(at_ + length), count_(count) {
    ++count.opened;
  }

  bool next(sample& into) override {
    if (at_ == end_)
      return false;
    ++count_.made;
    text_ = "text " + std::to_string(at_);
    into.set("number", std::int64_t{at_});
    into.set("floats", std::span<const float>{std::vector<float>(3, 0.5F * float(at_))}, {3});
    into.borrow("lent", std::as_bytes(std::span{text_}));
    into.count_read(100);
    ++at_;
    return true;
  }

protected:
  int at_;

private:
  int end_;
  std::string text_;
  counters& count_;
};

class saving_counting final : public counting {
public:
  using counting::counting;
  std::optional<std::string> save() const override { return at_ == 0 ? "" : std::to_string(at_); }
  void load(const std::string& state) override { at_ = state.empty() ? 0 : std::stoi(state); }
};

template <class Reader>
sequential_source source_of(counters& count, std::uint64_t units = 3, int length = 7) {
  return {"user@2", units, [&count, length](std::uint64_t unit) {
            return std::make_unique<Reader>(unit, length, count);
          }};
}

/// Every third record is bad.
class partly_bad final : public sequential_reader {
public:
  bool next(sample& into) override {
    if (at_ == 9)
      return false;
    if (at_++ % 3 == 1)
      throw bad_sample(cause::corrupt, "bad one");
    into.set("number", std::int64_t{at_ - 1});
    return true;
  }

private:
  int at_ = 0;
};

class throwing final : public sequential_reader {
public:
  bool next(sample&) override { throw std::runtime_error("the line is dead"); }
};

} // namespace

TEST_CASE("a user's records come in order, with all their fields") {
  counters count;
  const auto source = source_of<counting>(count, 2, 2);
  CHECK(source.units() == 2);
  CHECK(source.name() == "user");
  const auto all = read_stream(source);
  REQUIRE(all.size() == 4);
  CHECK(all[0].id == "user/0/0");
  CHECK(all[3].id == "user/1/1");
  sample s;
  const auto records = read_unit(source, 1);
  source.read(records[1], s);
  CHECK(s.get<std::int64_t>("number") == 11);
  CHECK(s.view<float, 1>("floats")[2] == 5.5F);
  CHECK(s.text("lent") == "text 11");
  CHECK(sample_access::take_bytes_read(s) == 100);
}

TEST_CASE("a user's source resumes at every place, with and without states") {
  counters count;
  caught_notices notices;
  check_every_place(source_of<saving_counting>(count));
  CHECK(notices.texts().empty());
  check_every_place(source_of<counting>(count));
  CHECK(!notices.texts().empty());
}

TEST_CASE("with states nothing is read again") {
  counters count;
  const auto source = source_of<saving_counting>(count, 1, 1000);
  const auto records = read_unit(source, 0);
  const auto reader = source.open(0, {});
  stream_record x;
  for (int i = 0; i < 900; ++i)
    reader->next(x);
  count.made = 0;
  const auto again = source.open(0, reader->place());
  REQUIRE(again->next(x));
  CHECK(x.number == 900);
  CHECK(count.made == 1);
  CHECK(read_record(source, without_content(records[500])).fields.size() == 3);
  CHECK(count.made == 2);
}

TEST_CASE("without states a unit is read again from its beginning, and says how much") {
  counters count;
  const auto source = source_of<counting>(count, 1, 100);
  caught_notices notices;
  const auto reader = source.open(0, {90, 0, ""});
  CHECK(count.made == 90);
  REQUIRE(notices.texts().size() == 1);
  CHECK(notices.texts()[0].find("user@2 reads 90 records of unit 0 again") == 0);
  // Records that have lost their content: reading them in order takes one more pass.
  const auto records = read_unit(source, 0);
  count.made = 0;
  for (const auto& x : records)
    read_record(source, without_content(x));
  CHECK(count.made == 100);
}

TEST_CASE("a user's bad record is bad, and the next one is not") {
  const sequential_source source{"bad@1", 1, [](auto) { return std::make_unique<partly_bad>(); }};
  const auto records = read_unit(source, 0);
  REQUIRE(records.size() == 9);
  for (const auto& x : records)
    for (const auto& y : {x, without_content(x)}) {
      CAPTURE(x.number);
      if (x.number % 3 == 1)
        CHECK_THROWS_AS(read_record(source, y), bad_sample);
      else
        CHECK(read_record(source, y).fields.size() == 1);
    }
}

TEST_CASE("what a user's source throws names it") {
  for (const sequential_source& source :
       {sequential_source{"dead@1", 1, [](auto) { return std::make_unique<throwing>(); }},
        sequential_source{"dead@1", 1, [](auto) -> std::unique_ptr<sequential_reader> {
                            throw std::runtime_error("the line is dead");
                          }}})
    try {
      read_unit(source, 0);
      FAIL("no error");
    } catch (const error& x) {
      CHECK(x.code() == errc::io);
      CHECK(x.details().stage == "dead@1");
      CHECK(x.details().got.find("the line is dead") != std::string::npos);
    }
  const sequential_source none{"none@1", 1, [](auto) { return nullptr; }};
  CHECK_THROWS_AS(none.open(0, {}), error);
  // As Python functions may raise. When a reader is opened, there is no sample that could be bad.
  const sequential_source bad{"bad@1", 1, [](auto) -> std::unique_ptr<sequential_reader> {
                                throw bad_sample(cause::function_error, "no such file");
                              }};
  const auto problem = problem_of([&] { (void)bad.open(0, {}); });
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  CHECK(problem->details().stage == "bad@1");
  CHECK(problem->details().got.find("no such file") != std::string::npos);
}

TEST_CASE("a user's source that became shorter is torn") {
  counters count;
  const auto long_one = source_of<counting>(count, 1, 9);
  const auto records = read_unit(long_one, 0);
  const auto short_one = source_of<counting>(count, 1, 3);
  caught_notices notices;
  CHECK_THROWS_AS(short_one.open(0, {5, 0, ""}), error);
  CHECK_THROWS_AS(read_record(short_one, without_content(records[5])), error);
}

TEST_CASE("many threads make lost records again") {
  counters count;
  const auto with = source_of<saving_counting>(count, 3, 20);
  const auto without = source_of<counting>(count, 3, 20);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (const auto* source : {&with, &without})
        for (const auto& x : read_unit(*source, t % 3))
          wrong += read_record(*source, without_content(x)) != read_record(*source, x);
    });
  for (auto& x : threads)
    x.join();
  CHECK(wrong == 0);
}

TEST_CASE("a user's source is a pipeline with all of its options") {
  counters count;
  const auto x = sequential(
      "user@2", 3, [&](std::uint64_t unit) { return std::make_unique<counting>(unit, 1, count); },
      {.order = file_order::shuffled, .seed = 9});
  CHECK(x.root().op == "sequential");
  CHECK(x.root().options
        == std::vector<node_option>{{"name", std::string{"user@2"}},
                                    {"units", std::uint64_t{3}},
                                    {"file_order", std::string{"shuffled"}},
                                    {"seed", std::uint64_t{9}}});
  CHECK(read_stream(*stream_of(x)).size() == 3);
  CHECK(stream_of(x)->facts().files == 3);
  CHECK_THROWS_AS(sequential("user@2", 0, {}), error);
}

} // namespace leat::sequential_source_test
