#include "runtime/order/indexed_form.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/order/plan_samples.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/sample/sample_access.hpp"
#include "tests/support/test.hpp"

#include <leat/sources.hpp>

namespace leat::indexed_form_test {
namespace {

using ids = std::vector<std::string>;
using numbers = std::vector<std::int64_t>;

/// Makes items of an indexed form as a worker does.
class bench {
public:
  explicit bench(const pipeline& x, std::uint64_t lanes = 1)
      : plan_(std::make_shared<const sample_graph>(plan_samples(x.root(), lanes))),
        maker_(plan_, std::make_shared<worker_record>(), lanes, nullptr) {}

  std::uint64_t size() const { return plan_->items->size(); }

  std::string id(std::uint64_t item, std::uint64_t epoch = 0) {
    std::string text;
    plan_->items->append_id({.item = item, .epoch = epoch}, maker_.orders(), text);
    return text;
  }

  ids all_ids(std::uint64_t epoch = 0) {
    ids result;
    for (std::uint64_t i = 0; i < size(); ++i)
      result.push_back(id(i, epoch));
    return result;
  }

  sample& make(std::uint64_t item, std::uint64_t epoch = 0) {
    sample_access::reset(sample_, nullptr);
    maker_.make({.item = item, .epoch = epoch}, item, sample_);
    return sample_;
  }

  numbers column(const std::string& field, std::uint64_t epoch = 0) {
    numbers result;
    for (std::uint64_t i = 0; i < size(); ++i)
      result.push_back(make(i, epoch).get<std::int64_t>(field));
    return result;
  }

private:
  std::shared_ptr<const sample_graph> plan_;
  sample_maker maker_;
  sample sample_;
};

/// Records 0 .. n-1 with their number in a field.
pipeline numbered(std::uint64_t n, const std::string& field = "n", const std::string& name = "s") {
  return from_function(name + "@1", n, [field](std::uint64_t i, sample& s) {
    s.set(field, static_cast<std::int64_t>(i));
  });
}

TEST_CASE("indexed_form: take and skip give the first and the rest, also of fewer") {
  CHECK(bench{numbered(5).take(3)}.column("n") == numbers{0, 1, 2});
  CHECK(bench{numbered(5).take(9)}.size() == 5);
  CHECK(bench{numbered(5).take(0)}.size() == 0);
  CHECK(bench{numbered(5).skip(3)}.column("n") == numbers{3, 4});
  CHECK(bench{numbered(5).skip(5)}.size() == 0);
  CHECK(bench{numbered(5).skip(UINT64_MAX)}.size() == 0);
  CHECK(bench{numbered(9).skip(2).take(4).skip(1)}.column("n") == numbers{3, 4, 5});
}

TEST_CASE("indexed_form: concat goes from input to input, over empty ones") {
  bench x{concat(
      {numbered(0), numbered(2, "n", "a"), numbered(0), numbered(1, "n", "b"), numbered(0)})};
  CHECK(x.column("n") == numbers{0, 1, 0});
  CHECK(x.all_ids() == ids{"a/0", "a/1", "b/0"});
}

TEST_CASE(
    "indexed_form: repeat shuffles each pass differently, and enumerate counts where it stands") {
  bench x{numbered(50).shuffle({.seed = 3}).enumerate("in").repeat(4).enumerate("out")};
  REQUIRE(x.size() == 200);
  std::set<numbers> passes;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto n = x.column("n", epoch);
    const auto in = x.column("in", epoch);
    const auto out = x.column("out", epoch);
    for (std::int64_t i = 0; i < 200; ++i) {
      REQUIRE(in[static_cast<std::size_t>(i)] == i % 50);
      REQUIRE(out[static_cast<std::size_t>(i)] == i);
    }
    for (auto at = n.begin(); at != n.end(); at += 50) {
      numbers pass(at, at + 50);
      passes.insert(pass);
      std::sort(pass.begin(), pass.end());
      REQUIRE(pass == numbers(in.begin(), in.begin() + 50)); // 0 to 49, as was seen above
    }
  }
  CHECK(passes.size() == 12);
}

TEST_CASE("indexed_form: passes of repeats inside each other are all different") {
  bench x{numbered(40).shuffle().repeat(3).take(110).repeat(2)};
  const auto n = x.column("n");
  std::set<numbers> passes;
  for (std::size_t begin : {0, 40, 110, 150})
    passes.insert(numbers(n.begin() + static_cast<std::ptrdiff_t>(begin),
                          n.begin() + static_cast<std::ptrdiff_t>(begin) + 40));
  CHECK(passes.size() == 4);
}

TEST_CASE("indexed_form: zip joins the fields and names of its inputs, up to the shortest") {
  bench x{zip({numbered(3, "a", "x"), numbered(9, "b", "y").skip(4), numbered(4, "c", "z")})};
  REQUIRE(x.size() == 3);
  CHECK(x.id(1) == "(x/1+y/5+z/1)");
  auto& s = x.make(2);
  CHECK(s.fields() == ids{"a", "b", "c"});
  CHECK(s.get<std::int64_t>("b") == 6);
  CHECK(s.id() == "(x/2+y/6+z/2)");
}

TEST_CASE("indexed_form: zips inside each other keep their samples apart") {
  auto inner = zip({numbered(4, "a"), numbered(4, "b").skip(1)});
  auto other = zip({numbered(4, "c").skip(2), numbered(4, "d").skip(3)});
  bench x{zip({inner, other})};
  auto& s = x.make(0);
  for (const auto& [field, value] : {std::pair{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}})
    CHECK(s.get<std::int64_t>(field) == value);
}

TEST_CASE("indexed_form: inputs of a zip with a field of one name are refused") {
  bench x{zip({numbered(3, "a"), numbered(3, "a")})};
  CHECK_THROWS_AS(x.make(0), bad_sample);
  auto renamed = numbered(3, "a").map(leat::rename("a", "b"));
  CHECK(bench{zip({numbered(3, "a"), renamed})}.make(1).get<std::int64_t>("b") == 1);
}

TEST_CASE(
    "indexed_form: a map draws the same wherever it stands, and else for every pass and source") {
  auto noise = [](const pipeline& x) {
    return x.map("noise@1", [](sample& s, context& c) {
      s.set("r", static_cast<std::int64_t>(c.rng().bits64() >> 1));
    });
  };
  const auto data = numbered(30).shuffle({.seed = 5});
  auto by_record = [](bench x) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> result;
    std::map<std::int64_t, std::int64_t> passes;
    for (std::uint64_t i = 0; i < x.size(); ++i) {
      auto& s = x.make(i);
      const auto n = s.get<std::int64_t>("n");
      result[{n, passes[n]++}] = s.get<std::int64_t>("r");
    }
    return result;
  };
  const auto before = by_record(bench{noise(data).repeat(2).skip(4)});
  const auto after = by_record(bench{noise(data.repeat(2).skip(4))});
  CHECK(before == after);
  std::set<std::int64_t> values;
  for (const auto& [key, value] : by_record(bench{noise(data.repeat(2))}))
    values.insert(value);
  CHECK(values.size() == 60);
  bench two{zip({noise(numbered(5, "a")),
                 noise(numbered(5, "b").map(leat::rename("b", "c"))).map(leat::rename("r", "q"))})};
  auto& s = two.make(0);
  CHECK(s.get<std::int64_t>("r") != s.get<std::int64_t>("q"));
}

TEST_CASE("indexed_form: a map after a zip draws by all its inputs") {
  auto joined = zip({numbered(6, "a"), numbered(36, "b").shuffle({.seed = 1}).take(6)})
                    .repeat(2)
                    .map("noise@1", [](sample& s, context& c) {
                      s.set("r", static_cast<std::int64_t>(c.rng().bits64() >> 1));
                    });
  const auto drawn = bench{joined}.column("r");
  CHECK(std::set<std::int64_t>(drawn.begin(), drawn.end()).size() == 12);
}

TEST_CASE("indexed_form: select keeps fields in its order, rename frees the row of a batch") {
  auto data = from_function("abc@1", 4, [](std::uint64_t i, sample& s) {
    for (const char* name : {"a", "b", "c"})
      s.set(name, static_cast<std::int64_t>(10 * i) + (name[0] - 'a'));
  });
  bench selected{data.map(leat::select({"c", "a", "c"}))};
  CHECK(selected.make(1).fields() == ids{"c", "a"});
  bench missing{data.map(leat::select({"d"}))};
  CHECK_THROWS_AS(missing.make(0), bad_sample);
  bench taken{data.map(leat::rename("a", "b"))};
  CHECK_THROWS_AS(taken.make(0), bad_sample);
}

TEST_CASE(
    "indexed_form: a field that was renamed keeps its value when the batch has its old name") {
  auto swapped =
      from_function("x@1", 3,
                    [](std::uint64_t i, sample& s) { s.set("x", static_cast<std::int64_t>(i)); })
          .map(leat::rename("x", "old"))
          .map("new@1", [](sample& s, context&) { s.set("x", s.get<std::int64_t>("old") + 100); });
  const auto plan = std::make_shared<const job_plan>(plan_job(swapped.batch(3)));
  auto maker = maker_of(*plan, std::make_shared<worker_record>());
  std::array<std::int64_t, 2> row{};
  std::array<std::byte*, 2> dense{};
  std::array<ragged_row, 2> ragged{};
  for (std::size_t i = 0; i < 2; ++i)
    dense[i] = reinterpret_cast<std::byte*>(&row[i]);
  const row_target target{plan->layout.get(), dense, ragged};
  sample s;
  sample_access::reset(s, &target);
  maker.make({.item = 2}, 2, s);
  sample_access::deliver(s);
  CHECK(row[plan->layout->find("x")] == 102);
  CHECK(row[plan->layout->find("old")] == 2);
}

TEST_CASE("indexed_form: lanes are the rows, or for windowed as the files allow") {
  auto lanes = [](const pipeline& x) { return lanes_of(x.root()); };
  const auto one_file = numbered(100).shuffle({.kind = shuffle_kind::windowed});
  CHECK(lanes(numbered(9).batch(240)) == 240);
  CHECK(lanes(numbered(9).shuffle().batch(240, {.lanes = 24})) == 24);
  CHECK(lanes(one_file.batch(240)) == 1);
  CHECK(lanes(one_file.batch(240, {.lanes = 24})) == 24);
  CHECK(lanes(concat({numbered(9).shuffle(), one_file}).batch(6)) == 1);
}

TEST_CASE("pipeline: what cannot be is refused when it is made") {
  const auto x = numbered(9);
  const shuffle_options windowed{.kind = shuffle_kind::windowed};
  CHECK(code_of([&] { x.repeat(0); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.batch(0); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.batch(10, {.lanes = 3}); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.batch(3).take(1); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.batch(3).batch(3); }) == errc::invalid_argument);
  CHECK(code_of([&] { zip({}); }) == errc::invalid_argument);
  CHECK(code_of([&] { concat({x, x.batch(3)}); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.enumerate(""); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.shuffle({.window = 0}); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.take(4).shuffle(windowed); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.shuffle().shuffle(windowed); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.map(leat::rename("n", "m")).shuffle(windowed); }) == std::nullopt);
  CHECK(code_of([&] { leat::select({}); }) == errc::invalid_argument);
  CHECK(code_of([&] { leat::select({"a,b"}); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.repeat(UINT64_MAX).size(); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.repeat(std::uint64_t{1} << 60).size(); }) == errc::invalid_argument);
}

} // namespace
} // namespace leat::indexed_form_test
