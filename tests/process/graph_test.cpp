#include "tests/support/command.hpp"
#include "tests/support/places.hpp"

// Compares what `leat graph` reports about a pipeline with what leat does with it.
namespace leat::test::graph_test {
namespace {

/// A directory with text files "a-00", ... and "b-00", ..., and pipelines over them.
class graph_bench : public command_bench {
public:
  graph_bench() {
    for (const std::string kind : {"a", "b"})
      for (int i = 10; i < 34; ++i) {
        std::ofstream file{at / (kind + "-" + std::to_string(i))};
        for (int line = 0; line < 40; ++line)
          file << kind << ' ' << i << ' ' << line << '\n';
      }
  }
};
std::string many_filters(int filters) {
  std::string text = "count(100)";
  for (int i = 0; i < filters; ++i)
    text += ".filter(\"bytes_between@1\", field=\"value\", max=8)";
  return text;
}

TEST_CASE("graph: the same plan as text, as JSON and as a picture") {
  graph_bench x;
  const auto job =
      words{"graph"}
      + x.pipeline(
          R"(lines("DIR/a-*").filter("bytes_between@1", field="text", min=1).batch(24, end="drop"))");
  const auto text = x.succeed(job + words{"--svg", x.at / "graph.svg"});
  const auto svg = read_file(x.at / "graph.svg");
  const auto graph = x.ask(job);
  CAPTURE(text, graph);
  CHECK(graph["order"] == "iterators");
  CHECK(graph["batches"].is_null());
  check_members(graph,
                {{"needs_agreement", true}, {"world_sizes", json{1, 2, 3, 4, 6, 8, 12, 24}}});
  REQUIRE(graph["rounds"].size() == 2);
  for (const auto& round : graph["rounds"]) {
    for (const auto& step : round["iterator"])
      CHECK(contains(text, step["call"].get<std::string>()));
    for (const std::string work : round["function"]) {
      CHECK(contains(text, work));
      CHECK(contains(svg, work));
    }
  }
  CHECK(contains(text, "1, 2, 3, 4, 6, 8, 12, 24"));
  CHECK(contains(svg, "1, 2, 3, 4, 6, 8, 12, 24"));
}

TEST_CASE("graph: batches of an epoch are those that order prints") {
  graph_bench x;
  const words job{"count:1000", "--global-batch", "60"};
  const auto graph = x.ask(words{"graph"} + job);
  check_members(graph, {{"batches", x.order(job, 1, x.at / "order").size()}, {"order", "indexed"}});
  CHECK(graph["world_sizes"].is_null());
}

TEST_CASE("graph: world sizes are those with which a job runs") {
  graph_bench x;
  const auto job = x.pipeline(R"(lines("DIR/a-*").batch(12))");
  const auto sizes = x.ask(words{"graph"} + job)["world_sizes"];
  for (int world = 1; world <= 12; ++world) {
    CAPTURE(world, sizes);
    const bool valid = std::count(sizes.begin(), sizes.end(), world) != 0;
    x.says(words_of("run --end cycle --steps 2 --world-size " + std::to_string(world)) + job,
           valid ? 0 : 2);
  }
}

TEST_CASE("graph: a source of one file that leaves one lane is named, and by a run, too") {
  graph_bench x;
  for (const words& verb : {words{"graph"}, words{"run", "--steps", "2"}}) {
    x.says(verb + x.pipeline(R"(mix(lines("DIR/b-*"), lines("DIR/a-10")).batch(8))"), 0,
           {"a-10\") has 1 unit", "one rank only", "ranges=N"});
    const auto many =
        x.says(verb + x.pipeline(R"(mix(lines("DIR/a-*"), lines("DIR/b-*")).batch(8))"), 0);
    CHECK_FALSE(contains(many.errors, "unit"));
  }
}

TEST_CASE("graph: states are about as large as in a snapshot") {
  graph_bench x;
  const words pipelines{
      R"(lines("DIR/a-*"))",
      R"(lines("DIR/a-*").shuffle_buffer(480, seed=1))",
      R"(count(100000).filter("key_hash@1", keep=50).shuffle_buffer(4800))",
      R"(zip(lines("DIR/a-*"), count(5000).filter("key_hash@1", keep=90))
             .shuffle_buffer(240).enumerate())",
      R"(mix(lines("DIR/a-*").filter("bytes_between@1", field="text", min=1),
             lines("DIR/b-*").flat_map("windows@1", field="text", length=4), weights=[2, 1])
             .shuffle_buffer(960).take(100000))",
  };
  for (const auto& text : pipelines) {
    const auto job = x.pipeline(text + ".batch(24)");
    const auto graph = x.ask(words{"graph"} + job);
    const double about = graph["lane_bytes"].get<double>() * graph["lanes"].get<double>();
    const auto summary = x.ask(words_of("run --end cycle --steps 400 --keep 1") + job
                               + words{"--snapshot-dir", x.at / "snapshots"});
    const double pipeline_and_sums = 1000; // at most
    const double bytes = summary["snapshot_bytes"];
    CAPTURE(text, about, bytes);
    CHECK(bytes > about / 2);
    CHECK(bytes < about * 2 + pipeline_and_sums);
    std::filesystem::remove_all(x.at / "snapshots");
  }
}

TEST_CASE("graph: what exists once is drawn without being read") {
  graph_bench x;
  const auto job = x.pipeline("standard_input().batch(4)");
  x.write("input", "1\n2\n3\n4\n");
  const auto command = std::string{"'"} + leat_command + "' ";
  const auto options = " --pipeline '" + job.back() + "'";
  const auto both = run_process({"/bin/sh", "-c",
                                 "(" + command + "graph --json" + options + " && " + command
                                     + "order" + options + ") <'" + (x.at / "input") + "'"},
                                x.at / "output");
  CAPTURE(both.output);
  REQUIRE(both.code == 0);
  CHECK(contains(both.output, "\"no_snapshots_for\":[\"stdin\"]"));
  CHECK(contains(both.output, "\"stdin/3\""));
}

TEST_CASE("graph: a pipeline with four mistakes is refused with all four") {
  graph_bench x;
  const auto job = x.pipeline(R"(a = lines("DIR/none-*")
b = lines("DIR/b-*").shuffle()
mix(a, b, standard_input().repeat(2),
    count(100).filter("key_hash@1", keep=50).shuffle_buffer(30)).batch(24, lanes=24))");
  for (const words& verb : {words{"graph"}, words{"order", "--steps", "1"}, words{"run"}}) {
    const auto refused = x.leat(verb + job);
    CAPTURE(verb, refused.errors);
    CHECK(refused.code != 0);
    CHECK(refused.output.empty());
    for (const auto* part : {"4 errors", "none-*", "shuffle, got", "standard_input, got",
                             "shuffle_buffer, got 30 samples over 24 lanes"})
      CHECK(contains(refused.errors, part));
  }
}

TEST_CASE("graph: 24 rounds in a chain run and are restored, 25 are refused") {
  graph_bench x;
  const auto job = x.pipeline(many_filters(23) + ".batch(4, end=\"mask\")");
  CHECK(x.ask(words{"graph"} + job)["rounds"].size() == 24);
  const auto whole = x.ask(words{"run"} + job);
  const words kept{"--snapshot-dir", x.at / "snapshots", "--resume"};
  x.succeed(words{"run"} + job + kept + words{"--steps", "9"});
  const auto resumed = x.ask(words{"run"} + job + kept);
  check_members(resumed, {{"samples", 64}, {"digest", whole["digest"]}});
  x.pipeline(many_filters(24) + ".batch(4)");
  x.says(words{"graph"} + job, 2);
}

/// Lines of a document that are indented by four, block by block, from a heading on.
std::vector<std::string> blocks_below(const std::string& heading) {
  const auto document = read_file(std::string{source_dir} + "/docs/iterators.md");
  const auto begin = document.find(heading);
  std::istringstream in{document.substr(begin, document.find("\n## ", begin + 1) - begin)};
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const bool indented = line.substr(0, 4) == "    ";
    if (indented && !inside)
      blocks.emplace_back();
    inside = indented || (inside && line.empty());
    if (inside)
      blocks.back() += (indented ? line.substr(4) : "") + '\n';
  }
  for (auto& block : blocks)
    block.erase(block.find_last_not_of('\n') + 2);
  return blocks;
}

TEST_CASE("graph: text and picture of the documents are what the command draws") {
  graph_bench x;
  for (const std::string kind : {"web", "books"})
    for (int i = 10; i < 34; ++i) {
      std::ofstream file{x.at / (kind + "-" + std::to_string(i) + ".txt")};
      for (int line = 0; line < 1000; ++line)
        file << std::string(39, 'x') << '\n';
    }
  const auto blocks = blocks_below("## Rounds");
  REQUIRE(blocks.size() == 2);
  x.pipeline(blocks[0]);
  const auto drawn = run_process(
      {"/bin/sh", "-c",
       "cd '" + x.at.path() + "' && '" + leat_command + "' graph --pipeline job.leat --svg svg"},
      x.at / "output");
  CHECK(drawn.code == 0);
  CHECK(drawn.output == blocks[1]);
  CHECK(read_file(x.at / "svg") == read_file(std::string{source_dir} + "/docs/pictures/plan.svg"));
}

} // namespace
} // namespace leat::test::graph_test
