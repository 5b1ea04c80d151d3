#include "runtime/order/sample_graph.hpp"
#include "runtime/rows/job_plan.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::plan_graph_test {

using leat::test::temporary_directory;

namespace {

using texts = std::vector<std::string>;
using numbers = std::vector<std::uint64_t>;
using indices = std::vector<std::size_t>;

/// Text files a-0, a-1, ...: units of streams.
class text_files {
public:
  explicit text_files(int files) {
    for (int i = 0; i < files; ++i)
      std::ofstream{at_ / ("a-" + std::to_string(i))} << "one\ntwo\n";
  }
  /// A call of the text form.
  std::string lines() const { return "lines(\"" + (at_ / "a-*") + "\")"; }
  const temporary_directory& at() const { return at_; }

private:
  temporary_directory at_;
};

plan_graph graph_of_text(const std::string& text) {
  return graph_of(parse_pipeline(text));
}

texts calls_of(const plan_round& x) {
  texts calls;
  for (const auto& step : x.iterator)
    calls.push_back(step.call);
  return calls;
}

const plan_step& step_of(const plan_graph& x, const std::string& op) {
  for (const auto& round : x.rounds)
    for (const auto& step : round.iterator)
      if (step.call.substr(0, step.call.find('(')) == op)
        return step;
  throw std::logic_error("no step " + op);
}

/// Checks what is wrong with a pipeline: a part of the text for each error.
void check_errors(const std::string& text, const texts& parts) {
  const std::string found = thrown_by([&] { plan_epochs(parse_pipeline(text)); }).what();
  CAPTURE(found);
  for (const auto& part : parts)
    CHECK(has(found, part));
  CHECK(has(found, "errors") == (parts.size() > 1)); // a single error is not a list
  if (parts.size() > 1)
    CHECK(has(found, std::to_string(parts.size()) + " errors"));
}

std::string many_filters(std::size_t filters) {
  std::string text = "count(100)";
  for (std::size_t i = 0; i < filters; ++i)
    text += ".filter(\"bytes_between@1\", field=\"value\", min=" + std::to_string(i % 8) + ')';
  return text + ".batch(4)";
}

const std::string count_with_filter =
    "count(100).filter(\"bytes_between@1\", field=\"value\", min=1)";
constexpr const char* by_content = ".filter(\"bytes_between@1\", field=\"text\", min=1)";

} // namespace

TEST_CASE("an indexed pipeline is one round without state, for any number of ranks") {
  const auto graph = graph_of_text("zip(count(1000).shuffle(seed=1), count(900).map(\"rename@1\", "
                                   "from=\"value\", to=\"other\").skip(5)).batch(64)");
  CHECK(graph.is_indexed());
  CHECK(graph.epoch.batches == 13);
  CHECK(graph.epoch.world_sizes().empty());
  CHECK(graph.lane_bytes() == 0);
  CHECK_FALSE(graph.epoch.needs_agreement());
  CHECK(graph.batch == "batch(64)");
  REQUIRE(graph.rounds.size() == 1);
  const auto& round = graph.rounds[0];
  CHECK(calls_of(round)
        == texts{"count(1000)", "shuffle(seed=1)", "count(900)", "skip(5)", "zip()"});
  CHECK(round.iterator[3].inputs == indices{2}); // not the map between them
  CHECK(round.iterator[4].inputs == indices{1, 3});
  CHECK(round.function == texts{"read count", "read count", "map rename@1", "zip"});
  for (const auto& step : round.iterator)
    CHECK(step.state.empty());
}

TEST_CASE("an operator that probes content ends a round at each of its inputs") {
  const text_files files{6};
  const auto graph =
      graph_of_text("a = " + files.lines() + by_content + ".take(100)\n" + "b = " + files.lines()
                    + ".map(\"rename@1\", from=\"text\", to=\"text\")\n"
                      "mix(a, b, cost=\"text\").enumerate().batch(12)");
  REQUIRE(graph.rounds.size() == 4);
  CHECK(calls_of(graph.rounds[0]) == texts{files.lines()});
  CHECK(graph.rounds[0].function == texts{"read lines", "probe for filter bytes_between@1"});
  CHECK(calls_of(graph.rounds[1])
        == texts{"filter(\"bytes_between@1\", field=\"text\", min=1)", "take(100)"});
  CHECK(graph.rounds[1].iterator[0].rounds == indices{0});
  CHECK(graph.rounds[1].iterator[0].inputs.empty());
  CHECK(graph.rounds[1].iterator[1].inputs == indices{0});
  CHECK(graph.rounds[1].iterator[1].rounds.empty());
  CHECK(graph.rounds[1].function
        == texts{"samples of round 1, as they were made", "probe for mix"});
  CHECK(graph.rounds[2].function == texts{"read lines", "map rename@1", "probe for mix"});
  CHECK(calls_of(graph.rounds[3]) == texts{"mix(cost=\"text\")", "enumerate()"});
  CHECK(graph.rounds[3].iterator[0].rounds == indices{1, 2});
  CHECK(graph.rounds[3].function
        == texts{"samples of round 2, as they were made", "samples of round 3, as they were made",
                 "enumerate"});
}

TEST_CASE("rounds of the graph are the edges of the plan") {
  const text_files files{4};
  const auto data = parse_pipeline(
      "a = " + files.lines() + by_content + ".scan(\"running_count@1\", into=\"n\")\n"
      + "b = " + files.lines() + ".flat_map(\"split@1\", field=\"text\", at=110)\n"
      + "mix(zip(a.map(\"select@1\", fields=[\"n\"]), b), a.pack(\"text\", 16), "
        "cost=\"text\").batch(4)");
  const auto graph = graph_of(data);
  const auto plan = plan_epochs(data).samples;
  REQUIRE(graph.rounds.size() == plan->edges.size() + 1);
  for (std::size_t i = 0; i < graph.rounds.size(); ++i) {
    CAPTURE(i);
    const bool last = i == plan->edges.size();
    indices taken;
    for (const auto& step : graph.rounds[i].iterator)
      taken.insert(taken.end(), step.rounds.begin(), step.rounds.end());
    CHECK(taken == (last ? plan->last_edges : plan->edges[i].below));
    if (!last)
      CHECK(graph.rounds[i].function.back() == "probe for " + plan->edges[i].stage);
  }
}

TEST_CASE("samples are kept for the next round unless a buffer stands between or they are cheap") {
  const text_files files{4};
  auto last_function = [](const std::string& text) {
    return graph_of_text(text).rounds.back().function.front();
  };
  const auto looked = files.lines() + by_content;
  CHECK(last_function(looked + ".take(5).batch(4)") == "samples of round 1, as they were made");
  CHECK(last_function(looked + ".shuffle_buffer(100).take(5).batch(4)")
        == "samples of round 1, made again");
  const auto graph = graph_of_text(looked + by_content + ".shuffle_buffer(100).batch(4)");
  CHECK(graph.rounds[1].function.front() == "samples of round 1, as they were made");
  CHECK(graph.rounds[2].function.front() == "samples of round 2, made again");
  CHECK(last_function("count(10).filter(\"bytes_between@1\", field=\"value\", min=1).batch(2)")
        == "samples of round 1, made again");
}

TEST_CASE("predicates on ids and known numbers of children need no round of their own") {
  const auto graph = graph_of_text(
      "count(100).filter(\"key_hash@1\", keep=50).flat_map(\"copies@1\", n=3).batch(4)");
  CHECK(graph.rounds.size() == 1);
  CHECK(step_of(graph, "filter").state.empty());
  CHECK_FALSE(step_of(graph, "flat_map").state.empty());
}

TEST_CASE("lanes limit the world sizes of a pipeline with states") {
  const text_files files{30};
  const auto graph = graph_of_text(files.lines() + ".batch(48, lanes=24)");
  CHECK_FALSE(graph.is_indexed());
  CHECK(graph.epoch.lanes == 24);
  CHECK(graph.epoch.world_sizes() == numbers{1, 2, 3, 4, 6, 8, 12, 24});
  CHECK(graph_of_text(files.lines() + ".batch(25, lanes=25)").epoch.world_sizes()
        == numbers{1, 5, 25});
  CHECK(graph_of_text(files.lines() + ".batch(1)").epoch.world_sizes() == numbers{1});
}

TEST_CASE("a graph names the source that limits the lanes") {
  const text_files many{8};
  const text_files two{2};
  const auto mixed = "mix(" + many.lines() + ", " + two.lines() + ").batch(8";
  const auto limit = graph_of_text(mixed + ")").lane_limit;
  REQUIRE(limit);
  CHECK(limit->find(two.lines() + " has 2 units, so the job has 2 lanes") == 0);
  CHECK_FALSE(graph_of_text(mixed + ", lanes=2)").lane_limit);
  CHECK_FALSE(graph_of_text(many.lines() + ".batch(8)").lane_limit);
}

TEST_CASE("ranks agree on ends that nobody knows beforehand") {
  const text_files files{4};
  for (const auto* end : {"drop", "mask", "cycle"}) {
    CAPTURE(end);
    const auto batch = std::string{".batch(4, end=\""} + end + "\")";
    CHECK(graph_of_text(files.lines() + batch).epoch.needs_agreement()
          == (end != std::string{"cycle"}));
    CHECK_FALSE(graph_of_text("count(100)" + batch).epoch.needs_agreement());
  }
}

TEST_CASE("what exists once cannot be in a snapshot without a journal") {
  const temporary_directory at;
  const auto data = once("queue@1", [](sample&) { return false; });
  CHECK(graph_of(data.batch(4)).unkept == texts{"queue"});
  CHECK(graph_of(data.batch(4).journal(at / "journal")).unkept.empty());
}

TEST_CASE("feeds are named once, and their steps say that they are served to all ranks") {
  const auto graph = graph_of_text("mix(feed(\"a\"), feed(\"b\")).batch(4)");
  CHECK(graph.feeds == texts{"a", "b"});
  CHECK(graph_of_text("count(100).batch(4)").feeds.empty());
  const auto one = graph_of_text("feed(\"queue\").batch(4)");
  CHECK(one.feeds == texts{"queue"});
  REQUIRE(one.rounds.size() == 1);
  CHECK(one.rounds.front().iterator.front().note
        == "once, in a process that serves it to all ranks");
  CHECK(one.unkept.empty());
}

TEST_CASE("a buffer's state is its lane's share of items, each as large as its operators make it") {
  const text_files files{4};
  const auto buffer = [](const std::string& data, int items) {
    const auto text = data + ".shuffle_buffer(" + std::to_string(items) + ").batch(4)";
    return plan_step{step_of(graph_of_text(text), "shuffle_buffer")};
  };
  const std::string numbers = "count(100).take(90).filter(\"key_hash@1\", keep=50)";
  const auto small = buffer(numbers, 400).state_bytes.value();
  const auto large = buffer(numbers, 800).state_bytes.value();
  CHECK(buffer(numbers, 403).state == "up to 101 items");
  CHECK(small >= 200); // a number of one byte, and its length
  CHECK(small < 250);
  CHECK(large >= small + 200);
  CHECK(buffer(files.lines(), 400).state_bytes.value() > 3 * small);
}

TEST_CASE("states whose size depends on content are named") {
  const text_files files{4};
  const auto graph = graph_of_text(files.lines() + ".pack(\"text\", 16, bins=3).shuffle_buffer(100)"
                                   + ".batch(4)");
  CHECK(step_of(graph, "pack").state == "documents of 3 open samples");
  CHECK(graph.of_unknown_size() == texts{"pack(\"text\", 16, bins=3)", "shuffle_buffer(100)"});
  CHECK(graph_of_text(files.lines() + ".batch(4)").of_unknown_size().empty());
}

TEST_CASE("the planner names all that is wrong with a pipeline at once") {
  const text_files files{3};
  check_errors(
      "a = lines(\"" + (files.at() / "none-*") + "\")\n" + "b = standard_input().repeat(2)\n"
          + "c = " + files.lines() + ".shuffle(seed=1)\n"
          + "mix(a, b, c, count(100).filter(\"key_hash@1\", "
            "keep=50).shuffle_buffer(30)).batch(24, lanes=24)",
      {"none-*", "standard_input, got a source that exists once, in a part that is repeated",
       "lines, got 3 files or ranges, needed at least one for each of 24 lanes",
       "shuffle, got a stream",
       "shuffle_buffer, got 30 samples over 24 lanes, needed at least 2 per lane: 48"});
}

TEST_CASE("a pipeline is checked as far as possible if its lanes are unknown") {
  const temporary_directory at;
  check_errors("a = lines(\"" + (at / "none-*") + "\")\n" + "mix(a.shuffle(), a, lines(\""
                   + (at / "also-none") + "\")).batch(24)",
               {"none-*", "also-none", "shuffle, got a stream"});
}

TEST_CASE("data that cannot be opened are named once, however often they are used") {
  const temporary_directory at;
  check_errors("a = tar_shards(\"" + (at / "none.tar") + "\")\n"
                   + "mix(a, a.filter(\"key_hash@1\", keep=50), a.take(5).shuffle(), "
                     "standard_input().repeat(2)).batch(4)",
               {"none.tar", "standard_input, got"});
}

TEST_CASE(
    "data that cannot be opened below an operator that looks at content hide no other error") {
  const temporary_directory at;
  check_errors("mix(lines(\"" + (at / "none.txt")
                   + "\").filter(\"field_hash@1\", field=\"text\", keep=50), "
                     "standard_input().repeat(2)).batch(4)",
               {"none.txt", "standard_input, got"});
}

TEST_CASE("too large an epoch is listed with what else is wrong") {
  check_errors("a = count(4611686018427387904).repeat(2).filter(\"key_hash@1\", keep=50)\n"
               "mix(a, count(9).filter(\"key_hash@1\", keep=50).shuffle()).batch(4)",
               {"repeat, got more than 2^62 samples per epoch", "shuffle, got a stream"});
}

TEST_CASE("there are at most 24 rounds in a chain") {
  CHECK(graph_of_text(many_filters(23)).rounds.size() == 24);
  for (const std::size_t filters : {24, 25, 200}) {
    CAPTURE(filters); // one error for each such branch
    check_errors(many_filters(filters),
                 {"filter bytes_between@1, got more than 24 rounds in a chain"});
  }
  std::string side_by_side = "mix(" + count_with_filter;
  for (int i = 0; i < 30; ++i)
    side_by_side += ", " + count_with_filter;
  CHECK(graph_of_text(side_by_side + ").batch(4)").rounds.size() == 32);
}

TEST_CASE("plan_graph: helpers do what workers do, and the rank reads for those without data") {
  const text_files files{2};
  const auto numbers = "count(100).map(\"rename@1\", from=\"value\", to=\"n\")"
                       ".batch(4)";
  const auto cuts = graph_of_text(numbers).cuts;
  REQUIRE(cuts.size() == 2);
  CHECK(cuts[0].sent == "items");
  CHECK(cuts[0].by_helper == texts{"read count", "map rename@1"});
  CHECK(cuts[0].by_rank.empty());
  CHECK(cuts[1].sent == "records");
  CHECK(cuts[1].by_helper == texts{"map rename@1"});
  CHECK(cuts[1].by_rank == texts{"read count"});
  const auto lent_as = [&](const std::string& lend) {
    return graph_of(parse_pipeline(numbers), "cpu", "auto", lend);
  };
  CHECK(lent_as("items").cuts.size() == 1);
  CHECK(lent_as("records").cuts.front().sent == "records");
  CHECK(lent_as("none").cuts.empty());
  CHECK(has(lent_as("none").not_lent, "none"));
  CHECK(has(thrown_by([&] { (void)lent_as("all"); }).what(), "\"all\""));
  // Records of a stream are not found by number.
  const auto lines = graph_of_text(files.lines() + ".batch(4)");
  REQUIRE(lines.cuts.size() == 1);
  CHECK(lines.cuts[0].sent == "items");
  CHECK(lines.not_lent.empty());
}

} // namespace leat::plan_graph_test
