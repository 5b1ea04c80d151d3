#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/pipeline/text/pipeline_rebuild.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::pipeline_rebuild_test {

using namespace leat::test;

namespace {

/// The facts of a pipeline as in a snapshot; its data need not exist.
operator_facts facts_of(const operator_node& x) {
  operator_facts facts{.op = x.op, .options = x.options};
  if (x.is_source())
    facts.data = source_facts{};
  for (const auto& input : x.inputs)
    facts.inputs.push_back(facts_of(*input));
  return facts;
}

pipeline_facts facts_of(const pipeline& x) {
  return {facts_of(x.root()), 4};
}

map_stage noise(const std::string& parameters) {
  return {"noise@1", parameters, [] { return [](sample&, context&) {}; }};
}

pipeline everything() {
  const auto streams =
      concat({tar_stream("a-{0..9}.tar.gz", {.order = file_order::shuffled}),
              lines("b.txt", {.ranges = 4}), json_lines("c.jsonl"), standard_input()});
  const auto indexed = zip({tar_shards("d.tar").shuffle({.seed = 3}).map(train_image("jpg")),
                            raw_records("e.bin", dtype::f32, {2, 3}).take(5).skip(1).repeat(2),
                            image_folder("f").map(noise("level=0.5"))});
  return mix({streams.filter(key_hash(50)).filter(field_between("text", {}, 3.5)),
              indexed.flat_map(copies(2)).flat_map(windows("value", 3)).enumerate("n")},
             {.weights = {2, 1}, .rule = mix_rule::random, .cost = "text"})
      .shuffle_buffer(100, 7)
      .scan(running_sum("n", "sum"))
      .pack("text", 64, {.delimiter = 10})
      .map(select({"text"}))
      .batch(8, {.lanes = 4, .end = epoch_end::cycle, .fields = {"text"}});
}

std::optional<error_details> refusal(const pipeline_facts& x) {
  const auto problem = problem_of([&] { rebuild(x); });
  CHECK((!problem || problem->code() == errc::invalid_argument));
  return problem ? std::optional{problem->details()} : std::nullopt;
}

} // namespace

TEST_CASE("a pipeline is rebuilt from its facts, with the functions of its operators") {
  register_map("noise@1", noise);
  const auto x = everything();
  const auto again = rebuild(facts_of(x));
  CHECK(again == x);
  CHECK(to_string(again) == to_string(x));
  std::size_t functions = 0;
  for_each_operator(again.root(), [&](const operator_node& node) {
    functions += (node.op == "map" && node.make) || (node.op == "filter" && node.filter)
                 || (node.op == "flat_map" && node.flat_map) || (node.op == "scan" && node.scan);
    CHECK(node.is_source() == (node.data || node.stream || node.feed));
  });
  CHECK(functions == 8);
}

TEST_CASE("options that came later are in snapshots only where they are changed") {
  const auto before = count(9).pack("value", 8).batch(2);
  const auto old = facts_of(before).root.inputs[0].options;
  CHECK(old.size() == 6); // the options of an earlier version
  CHECK(rebuild(facts_of(before)) == before);
  const auto now = count(9).pack("value", 8, {.fit = pack_fit::best, .cu_seqlens = true}).batch(2);
  REQUIRE(facts_of(now).root.inputs[0].options.size() == 8);
  CHECK(rebuild(facts_of(now)) == now);
  CHECK(now != before);
  const auto is_refused = [&](auto change) {
    auto facts = facts_of(now);
    change(facts.root.inputs[0].options);
    return refusal(facts).has_value();
  };
  CHECK(is_refused([](auto& all) { std::swap(all[6], all[7]); }));
  CHECK(is_refused([](auto& all) { all[6].value = std::string{"first"}; })); // never written
  CHECK(is_refused([](auto& all) { all[7].value = std::string{"true"}; }));
}

TEST_CASE("options of mix that came later: max_repeats and schedule_by") {
  const auto inputs = std::vector{count(9), count(8)};
  const auto before = mix(inputs, {.stop = mix_stop::cycle, .cost = "value"}).batch(2);
  CHECK(facts_of(before).root.inputs[0].options.size() == 5);
  const auto now = mix(inputs, {.stop = mix_stop::cycle,
                                .cost = "value",
                                .schedule = {{7, {1, 3}}},
                                .max_repeats = 4,
                                .schedule_by = mix_schedule::cost})
                       .batch(2);
  auto facts = facts_of(now);
  const auto& options = facts.root.inputs[0].options;
  REQUIRE(options.size() == 8);
  CHECK(options[6] == node_option{"max_repeats", std::uint64_t{4}});
  CHECK(options[7] == node_option{"schedule_by", std::string{"cost"}});
  CHECK(rebuild(facts) == now);
  CHECK(has(to_string(now), "schedule=[\"7:1,3\"], max_repeats=4, schedule_by=\"cost\"\n"));
  facts.root.inputs[0].options[6].value = std::uint64_t{0}; // a default is never written
  CHECK(refusal(facts));
}

TEST_CASE("a pipeline is rebuilt from the bytes of a snapshot") {
  const auto x = count(48).shuffle({.seed = 2}).map(pad("value", 16, 3)).batch(8);
  snapshot taken;
  taken.pipeline = {facts_of(x.root()), 8};
  taken.world_size = 1;
  const auto again = rebuild(decode(encode(taken), "here").pipeline);
  CHECK(again == x);
  CHECK(again.size() == 48);
}

TEST_CASE("all that cannot be rebuilt is named at once") {
  auto facts = facts_of(count(10).map(int_label("a")).batch(2));
  facts.root = then(
      map_of(map_of(map_of(then(join("zap", {facts.root.inputs[0], count_of(1)}), "filter",
                                {{"name", std::string{"lost@2"}}, {"parameters", std::string{}}}),
                           "lost@1"),
                    "lost@1"),
             "int_label@1", "feld=a"),
      "batch", facts.root.options);
  const auto found = refusal(facts).value();
  CHECK(found.stage == "pipeline of a snapshot");
  CHECK(found.got == "4 errors:");
  const auto all = std::accumulate(found.list.begin(), found.list.end(), std::string{});
  for (const auto* text : {"operator \"zap\"", "\"lost@2\", which is not registered",
                           "\"lost@1\", which is not registered", "int_label@1, got no field"})
    CHECK(has(all, text));
}

TEST_CASE("operators of another version are refused, not guessed") {
  const auto good = facts_of(count(10).take(3).batch(2));
  CHECK_FALSE(refusal(good));
  const auto got = [&](const std::string& op, const std::function<void(operator_facts&)>& change) {
    auto changed = good;
    change(stage_of(changed, op));
    const auto found = refusal(changed);
    return found ? found->stage + ": " + found->got : "nothing";
  };
  const node_option more{"from", std::uint64_t{1}};
  CHECK(got("take", [&](auto& x) { x.options.push_back(more); }) == "take: other options");
  CHECK(got("take", [](auto& x) { x.options.front().name = "m"; }) == "take: other options");
  CHECK(got("take", [](auto& x) { set_option(x, "n", 3.0); }) == "take: other options");
  CHECK(got("take", [](auto& x) { x = join("zip", x.inputs); }) == "nothing");
  CHECK(got("count", [](auto& x) { x.op = "take"; }) == "pipeline: operator \"take\"");
  CHECK(got("take", [](auto& x) { x.inputs.push_back(count_of(1)); })
        == "pipeline: operator \"take\"");
  CHECK(got("batch", [](auto& x) { set_option(x, "rows", std::uint64_t{0}); }) == "batch: 0 rows");
}

TEST_CASE("a function that now stands for other parameters is refused") {
  register_map("drifts@1", [](const std::string& parameters) {
    auto x = noise(parameters + " level=2");
    x.name = "drifts@1";
    return x;
  });
  const auto found = refusal({then(map_of(count_of(4), "drifts@1", "a=1"), "batch",
                                   facts_of(count(1).batch(1)).root.options),
                              1});
  REQUIRE(found);
  CHECK(found->stage == "map");
  CHECK(found->needed == "the function of the snapshot");
}

} // namespace leat::pipeline_rebuild_test
