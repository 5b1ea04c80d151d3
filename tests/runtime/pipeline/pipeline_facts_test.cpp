#include "runtime/pipeline/pipeline_facts.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::pipeline_facts_test {

using namespace leat::test;
using namespace std::string_literals;

namespace {

class numbers : public source {
public:
  explicit numbers(std::uint64_t records) : records_(records) {}

  std::uint64_t size() const override { return records_; }
  void read(std::uint64_t, sample&) const override {}
  std::string name() const override { return "numbers"; }
  source_facts facts() const override {
    return {.files = 1, .records = records_, .bytes = 8 * records_, .digest = {}};
  }

private:
  std::uint64_t records_;
};

operator_ptr made(operator_node x) {
  return std::make_shared<const operator_node>(std::move(x));
}

operator_ptr source_stage(std::uint64_t records) {
  auto open = [=] { return std::make_shared<const numbers>(records); };
  return made({.op = "count",
               .options = {{"records", records}, {"bytes", std::uint64_t{8}}},
               .data = std::make_shared<lazy_source>(open)});
}

pipeline batched(operator_ptr input) {
  return pipeline{made({.op = "batch",
                        .options = {{"rows", std::uint64_t{8}},
                                    {"lanes", std::uint64_t{0}},
                                    {"end", "drop"s},
                                    {"fields", std::vector{"value"s}}},
                        .inputs = {std::move(input)}})};
}

bool is_refused(const pipeline& x) {
  return code_of([&] { describe(x, 8); }) == errc::invalid_argument;
}

} // namespace

TEST_CASE("facts are the whole tree, with what the data are and the lanes as resolved") {
  auto taken =
      made({.op = "take", .options = {{"n", std::uint64_t{3}}}, .inputs = {source_stage(5)}});
  auto mapped = made({.op = "map",
                      .options = {{"name", "a@1"s}, {"parameters", "x=1"s}},
                      .inputs = {source_stage(4)},
                      .make = [] { return map_function{}; }});
  auto zipped = made({.op = "zip", .inputs = {taken, mapped}});
  const auto wanted = batch_of(join("zip", {then(count_of(5), "take", {{"n", std::uint64_t{3}}}),
                                            map_of(count_of(4), "a@1", "x=1")}),
                               8, 4, {"value"});
  CHECK(describe(batched(zipped), 4) == wanted);
  CHECK_FALSE(describe(batched(zipped), 8) == wanted);
}

TEST_CASE("a pipeline without a batch has no facts") {
  CHECK(is_refused(pipeline{source_stage(5)}));
}

TEST_CASE("a pipeline that no snapshot can hold is refused before its data are opened") {
  auto unreadable = made({.op = "count", .data = std::make_shared<lazy_source>([] {
                                           throw std::logic_error("was opened");
                                           return std::shared_ptr<const source>{};
                                         })});
  const auto refused_after = [&](std::size_t times, auto more) {
    auto x = unreadable;
    for (std::size_t i = 0; i < times; ++i)
      x = made(more(x));
    return is_refused(batched(x));
  };
  CHECK(refused_after(max_tree_size.nested_joins + 1, [&](const operator_ptr& x) {
    return operator_node{.op = "zip", .inputs = {unreadable, x}};
  }));
  // Joins of shared inputs, which as a tree have more leaves than can be counted.
  CHECK(refused_after(40, [](const operator_ptr& x) {
    return operator_node{.op = "zip", .inputs = {x, x}};
  }));
  CHECK(refused_after(max_tree_size.height, [](const operator_ptr& x) {
    return operator_node{.op = "take", .options = {{"n", std::uint64_t{3}}}, .inputs = {x}};
  }));
}

TEST_CASE("facts have the versions of the states that operators write") {
  auto versions = [](const pipeline& x) {
    std::string seen;
    for_each_operator(describe(x, 1).root, [&](const operator_facts& node) {
      seen += node.op + ' ' + std::to_string(node.state_version) + ", ";
    });
    return seen;
  };
  const auto closed = count(9).take(5).repeat(2);
  CHECK(versions(closed.batch(1)) == "count 0, take 0, repeat 0, batch 0, ");
  CHECK(versions(closed.filter(key_hash(50)).map("m@1", [](sample&, context&) {}).take(3).batch(1))
        == "count 0, take 0, repeat 0, filter 1, map 0, take 1, batch 0, ");
}

TEST_CASE("operators are visited in data order") {
  const auto x =
      batch_of(join("zip", {shuffle_of(count_of(1), 1), map_of(count_of(2), "a@1")}), 1, 1);
  std::string seen;
  for_each_operator(x.root, [&](const operator_facts& node) { seen += node.op + ' '; });
  CHECK(seen == "count shuffle count map zip batch ");
}

TEST_CASE("a shape names operators without maps") {
  const auto source = count_of(1);
  auto shape = [](operator_facts x) { return shape_of(batch_of(std::move(x), 1, 1).root); };
  CHECK(shape(source) == "count.batch");
  CHECK(shape(map_of(shuffle_of(map_of(source, "a@1"), 1), "b@1")) == "count.shuffle.batch");
  CHECK(shape(join("zip", {source, join("concat", {source, shuffle_of(source, 1)})}))
        == "zip(count, concat(count, count.shuffle)).batch");
}

TEST_CASE("operators of a pipeline are told without opening its data, and with what they hold") {
  const auto data = tar_shards("nowhere/*.tar").shuffle({.seed = 7});
  const auto shuffle = operators_of(data);
  CHECK(shuffle.op == "shuffle");
  CHECK(shuffle.get<std::uint64_t>("seed") == 7);
  CHECK(shuffle.get<std::string>("kind") == "full");
  REQUIRE(shuffle.inputs.size() == 1);
  CHECK(shuffle.inputs[0].get<std::vector<std::string>>("patterns")
        == std::vector{"nowhere/*.tar"s});
  CHECK_FALSE(shuffle.inputs[0].data);
  CHECK_THROWS_AS(operators_with_data(data), error);
  CHECK(operators_with_data(count(9).take(3)).inputs[0].data->records == 9);
}

TEST_CASE("a tree that is too large to be walked has no operators to tell") {
  auto x = count(9);
  for (int i = 0; i < 40; ++i)
    x = pipeline{made({.op = "zip",
                       .inputs = {std::make_shared<const operator_node>(x.root()),
                                  std::make_shared<const operator_node>(x.root())}})};
  CHECK_THROWS_AS(operators_of(x), error);
  CHECK_THROWS_AS(with_maps(x, {}), error);
}

TEST_CASE("another end rule makes another pipeline, and leaves the rest as it is") {
  const auto job = count(9).shuffle({.seed = 1}).batch(4);
  CHECK(end_of(job) == epoch_end::drop);
  const auto masked = with_end(job, epoch_end::mask);
  CHECK(end_of(masked) == epoch_end::mask);
  CHECK(masked == count(9).shuffle({.seed = 1}).batch(4, {.end = epoch_end::mask}));
  CHECK(end_of(with_end(masked, epoch_end::automatic)) == epoch_end::drop);
  CHECK_THROWS_AS(end_of(count(9)), error);
  CHECK_THROWS_AS(with_end(count(9), epoch_end::mask), error);
}

TEST_CASE("maps of a name and parameters get other functions, wherever they stand") {
  auto stage = [](std::string parameters, std::uint64_t value) {
    return map_stage{"set@1", std::move(parameters),
                     [=] { return map_function{[=](sample& s, context&) { s.set("x", value); }}; }};
  };
  const auto job =
      zip({count(4).map(stage("a", 1)), count(4).map(leat::rename("value", "other")).take(2)})
          .map(leat::rename("x", "y"))
          .map(stage("b", 2))
          .batch(1);
  const auto changed = with_maps(job, {stage("a", 5)});
  CHECK(changed == job);
  auto first_of = [](const pipeline& from, const char* field) {
    loader trained{from, {.workers = 0}};
    return trained.next()->view<std::uint64_t, 1>(field)[0];
  };
  CHECK(first_of(job, "y") == 1);
  CHECK(first_of(changed, "y") == 5);
  CHECK(first_of(changed, "x") == 2);
}

} // namespace leat::pipeline_facts_test
