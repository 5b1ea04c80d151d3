#include "runtime/sources/sequential_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/stream_places.hpp"
#include "tests/support/stream_reading.hpp"

#include <leat/streams.hpp>

#include <atomic>
#include <stdexcept>

namespace leat::sequential_source_test {

using namespace leat::test;

namespace {

/// Counts from 10 * unit on: `length` records, each with fields of all kinds.
class counting : public sequential_reader {
public:
  /// `made` counts the records of all readers.
  counting(std::uint64_t unit, int length, std::atomic<int>& made)
      : at_(static_cast<int>(10 * unit)), end_(at_ + length), made_(made) {}

  bool next(sample& into) override {
    if (at_ == end_)
      return false;
    ++made_;
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
  std::atomic<int>& made_;
};

class saving_counting final : public counting {
public:
  using counting::counting;
  std::optional<std::string> save() const override { return at_ == 0 ? "" : std::to_string(at_); }
  void load(const std::string& state) override { at_ = state.empty() ? 0 : std::stoi(state); }
};

template <class Reader>
sequential_source source_of(std::atomic<int>& made, std::uint64_t units = 3, int length = 7) {
  return {"user@2", units, [&made, length](std::uint64_t unit) {
            return std::make_unique<Reader>(unit, length, made);
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

/// A source that cannot even be opened.
template <class Problem>
sequential_source failing(const std::string& name, Problem problem) {
  return {name, 1, [problem](auto) -> std::unique_ptr<sequential_reader> { throw problem; }};
}

} // namespace

TEST_CASE("a user's records come in order, with all their fields") {
  std::atomic<int> made = 0;
  const auto source = source_of<counting>(made, 2, 2);
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
  std::atomic<int> made = 0;
  caught_notices notices;
  check_every_place(source_of<saving_counting>(made));
  CHECK(notices.texts().empty());
  check_every_place(source_of<counting>(made));
  CHECK(!notices.texts().empty());
}

TEST_CASE("with states nothing is read again") {
  std::atomic<int> made = 0;
  const auto source = source_of<saving_counting>(made, 1, 1000);
  const auto records = read_unit(source, 0);
  const auto reader = source.open(0, {});
  stream_record x;
  for (int i = 0; i < 900; ++i)
    reader->next(x);
  made = 0;
  REQUIRE(source.open(0, reader->place())->next(x));
  CHECK(x.number == 900);
  CHECK(made == 1);
  CHECK(read_record(source, without_content(records[500])).fields.size() == 3);
  CHECK(made == 2);
}

TEST_CASE("without states a unit is read again from its beginning, and says how much") {
  std::atomic<int> made = 0;
  const auto source = source_of<counting>(made, 1, 100);
  caught_notices notices;
  const auto reader = source.open(0, {90, 0, ""});
  CHECK(made == 90);
  REQUIRE(notices.texts().size() == 1);
  CHECK(notices.texts()[0].find("user@2 reads 90 records of unit 0 again") == 0);
  // Records that have lost their content: reading them in order takes one more pass.
  const auto records = read_unit(source, 0);
  made = 0;
  for (const auto& x : records)
    read_record(source, without_content(x));
  CHECK(made == 100);
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
        failing("dead@1", std::runtime_error("the line is dead"))})
    check_error([&] { read_unit(source, 0); },
                {.code = errc::io, .stage = "dead@1", .got_has = "the line is dead"});
  const sequential_source none{"none@1", 1, [](auto) { return nullptr; }};
  CHECK_THROWS_AS(none.open(0, {}), error);
  // As Python functions may raise. When a reader is opened, there is no sample that could be bad.
  const auto bad = failing("bad@1", bad_sample(cause::function_error, "no such file"));
  check_error([&] { (void)bad.open(0, {}); },
              {.code = errc::io, .stage = "bad@1", .got_has = "no such file"});
}

TEST_CASE("a user's source that became shorter is torn") {
  std::atomic<int> made = 0;
  const auto records = read_unit(source_of<counting>(made, 1, 9), 0);
  const auto short_one = source_of<counting>(made, 1, 3);
  caught_notices notices;
  CHECK_THROWS_AS(short_one.open(0, {5, 0, ""}), error);
  CHECK_THROWS_AS(read_record(short_one, without_content(records[5])), error);
}

TEST_CASE("many threads make lost records again") {
  std::atomic<int> made = 0;
  const auto with = source_of<saving_counting>(made, 3, 20);
  const auto without = source_of<counting>(made, 3, 20);
  std::atomic<int> wrong = 0;
  in_threads(4, [&](unsigned t) {
    for (const auto* source : {&with, &without})
      for (const auto& x : read_unit(*source, t % 3))
        wrong += read_record(*source, without_content(x)) != read_record(*source, x);
  });
  CHECK(wrong == 0);
}

TEST_CASE("a user's source is a pipeline with all of its options") {
  std::atomic<int> made = 0;
  const auto x = sequential(
      "user@2", 3, [&](std::uint64_t unit) { return std::make_unique<counting>(unit, 1, made); },
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
