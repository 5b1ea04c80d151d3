#include "tests/support/command.hpp"

#include "tools/leat/graph/graph_layout.hpp"
#include "tools/leat/graph/graph_svg.hpp"
#include "tools/leat/graph/graph_text.hpp"

#include <cmath>

namespace leat::command_graph_test {

using namespace leat::command;
using test::count_of;

namespace {

plan_step source_step(std::string call) {
  return {.call = std::move(call), .note = "3 units", .state = "a number", .state_bytes = 3};
}

/// Two branches that are joined, with a round below one of them.
plan_graph joined_branches() {
  plan_graph graph{
      .batch = "batch(24)",
      .epoch = {.batch_rows = 24, .lanes = 12, .end = epoch_end::mask, .is_indexed = false}};
  graph.rounds.push_back({{source_step("a()")}, {"read a", "probe for pack"}});
  plan_step pack{.call = "pack(\"x\", 8)", .rounds = {0}, .state = "documents"};
  plan_step mix{.call = "mix()", .inputs = {0, 2, 3}};
  graph.rounds.push_back(
      {{pack, source_step("b()"), {.call = "take(5)", .inputs = {1}}, source_step("c()"), mix},
       {"samples of round 1, as they were made", "pack", "read b", "read c"}});
  return graph;
}

/// Any tree of rounds, as a plan could have it.
class random_graphs {
public:
  explicit random_graphs(std::uint32_t seed) : random_(seed) {}

  plan_graph next() {
    plan_graph graph{.batch = "batch(4)", .epoch = {.batch_rows = 4, .is_indexed = false}};
    add_round(graph, 3);
    return graph;
  }

private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string word() { return std::string(1 + below(90), 'w'); }

  std::size_t add_round(plan_graph& graph, std::size_t depth) {
    plan_round round;
    add_step(graph, round, depth, 3);
    round.function.assign(1 + below(6), word());
    graph.rounds.push_back(std::move(round));
    return graph.rounds.size() - 1;
  }

  std::size_t add_step(plan_graph& graph, plan_round& round, std::size_t depth,
                       std::size_t height) {
    plan_step step{.call = word()};
    const bool looks = depth > 0 && below(3) == 0;
    const auto inputs = looks ? 1 + below(2) : height == 0 ? 0 : below(4);
    for (std::size_t i = 0; i < inputs; ++i)
      if (looks)
        step.rounds.push_back(add_round(graph, depth - 1));
      else
        step.inputs.push_back(add_step(graph, round, depth, height - 1));
    if (below(2) == 0)
      step.state = word();
    round.iterator.push_back(std::move(step));
    return round.iterator.size() - 1;
  }
  std::mt19937 random_;
};
bool overlap(const drawn_box& a, const drawn_box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

bool inside(const drawn_box& a, const drawn_box& b) {
  return a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width
         && a.y + a.height <= b.y + b.height;
}

bool near(double a, double b) {
  return std::abs(a - b) < 0.01;
}

/// Whether an arrow's end is on the middle of a box's upper or lower side.
bool touches(const std::vector<drawn_box>& boxes, double x, double y, bool top) {
  return std::any_of(boxes.begin(), boxes.end(), [&](const drawn_box& box) {
    return box.kind != box_kind::round && near(x, box.x + box.width / 2)
           && near(y, top ? box.y : box.y + box.height);
  });
}

void check_drawing(const drawing& x) {
  const drawn_box page{.width = x.width + 0.01, .height = x.height + 0.01};
  const drawn_box* round = nullptr;
  for (const auto& box : x.boxes) {
    REQUIRE(inside(box, page));
    if (box.kind == box_kind::round)
      round = &box;
    else if (box.kind != box_kind::batch)
      REQUIRE(inside(box, *round));
    REQUIRE(box.height >= 2 * box_margin + line_height * double(box.lines.size()));
    for (const auto& line : box.lines)
      REQUIRE(box.width >= 2 * box_margin + char_width * double(length_of(line)));
  }
  for (auto a = x.boxes.begin(); a != x.boxes.end(); ++a)
    for (auto b = std::next(a); b != x.boxes.end(); ++b)
      if ((a->kind == box_kind::round) == (b->kind == box_kind::round))
        REQUIRE_FALSE(overlap(*a, *b));
  for (const auto& a : x.arrows) {
    REQUIRE(a.y1 < a.y2);
    REQUIRE(touches(x.boxes, a.x1, a.y1, false));
    REQUIRE(touches(x.boxes, a.x2, a.y2, true));
  }
}

} // namespace

TEST_CASE("graph: branches are columns that joins close") {
  const auto text = to_text(joined_branches());
  CAPTURE(text);
  const auto iterator = text.substr(text.find("round 2 of 2"));
  CHECK(count_of(iterator, "\n    o     pack(\"x\", 8)  takes round 1; keeps documents\n") == 1);
  CHECK(count_of(iterator, "\n    | o   b()           3 units; keeps a number, about 3 bytes\n")
        == 1);
  CHECK(count_of(iterator, "\n    | o   take(5)\n") == 1);
  CHECK(count_of(iterator, "\n    | | o c()           3 units") == 1);
  CHECK(count_of(iterator, "\n    o-+-' mix()\n") == 1);
}

TEST_CASE("graph: facts say what limits a job") {
  auto graph = joined_branches();
  auto text = to_text(graph);
  CAPTURE(text);
  CHECK(count_of(text, "lanes         12; a batch takes 2 items of each\n") == 1);
  CHECK(count_of(text, "world sizes   1, 2, 3, 4, 6, 12 (") == 1);
  CHECK(count_of(text, "several ranks must agree") == 1);
  CHECK(count_of(text, "apart from what these keep: pack(\"x\", 8)\n") == 1);
  graph.unkept = {"stdin"};
  CHECK(count_of(to_text(graph), "snapshots     refused: stdin without a journal") == 1);
  CHECK(count_of(to_text(graph), "\nfeed ") == 0);
  graph.feeds = {"queue"};
  CHECK(count_of(to_text(graph), "\nfeed          queue: served by `leat feed queue --join "
                                 "HOST:PORT`, or a program (run_feed); record n goes to the rank "
                                 "of lane n mod 12\n")
        == 1);
  graph.epoch.end = epoch_end::cycle;
  CHECK(count_of(to_text(graph), "epoch         cycle: one epoch without end\n") == 1);
  CHECK(count_of(to_text(graph), "several ranks") == 0);
}

TEST_CASE("graph: what helpers do is listed once, and what is left for the rank") {
  auto graph = joined_branches();
  graph.cuts = {
      {.sent = "items", .by_helper = {"read a", "read b", "samples of round 1", "read a"}},
      {.sent = "records", .by_helper = {}, .by_rank = {"read a"}}};
  CHECK(count_of(to_text(graph), "\nhelpers\n  with the data: read a, read b\n"
                                 "  sent records: nothing; the rank: read a\n")
        == 1);
  graph.cuts.clear();
  graph.not_lent = "for a reason";
  CHECK(count_of(to_text(graph), "\nhelpers\n  none: for a reason\n") == 1);
}

TEST_CASE("graph: an arrow for every input, round and function") {
  const auto drawn = lay_out(joined_branches());
  check_drawing(drawn);
  CHECK(drawn.boxes.size() == 2 + 6 + 2 + 1);
  CHECK(drawn.arrows.size() == 4 + 1 + 2 + 1);
}

TEST_CASE("graph: boxes stand apart, steps in their rounds, arrows from box to box") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  random_graphs graphs{seed};
  for (int i = 0; i < 60; ++i) {
    const auto graph = graphs.next();
    const auto drawn = lay_out(graph);
    check_drawing(drawn);
    std::size_t boxes = 1;
    std::size_t arrows = 1;
    for (const auto& round : graph.rounds) {
      boxes += 2 + round.iterator.size();
      ++arrows;
      for (const auto& step : round.iterator)
        arrows += step.inputs.size() + step.rounds.size();
    }
    REQUIRE(drawn.boxes.size() == boxes);
    REQUIRE(drawn.arrows.size() == arrows);
  }
}

TEST_CASE("graph: a small round has room for what is said about it") {
  plan_graph graph{.batch = "b", .epoch = {.batch_rows = 4, .is_indexed = false}};
  graph.rounds.push_back({{{.call = "a"}}, {}});
  check_drawing(lay_out(graph));
}

TEST_CASE("graph: a chain of rounds is no wider than its widest round") {
  plan_graph graph{.batch = "batch(4)", .epoch = {.batch_rows = 4, .is_indexed = false}};
  graph.rounds.push_back({{source_step("a()")}, {"read a"}});
  const auto alone = lay_out(graph).width;
  for (std::size_t i = 1; i < 24; ++i)
    graph.rounds.push_back({{{.call = "f()", .rounds = {i - 1}}}, {"look"}});
  CHECK(lay_out(graph).width <= alone + 1);
}

TEST_CASE("graph: a picture is XML whatever names have in them") {
  auto graph = joined_branches();
  graph.rounds[0].iterator[0].call = "lines(\"<a> & b\xff\x01\xc3\xa4\")";
  const auto svg = to_svg(graph);
  CHECK(count_of(svg, "lines(\"&lt;a> &amp; b??\xc3\xa4\")") == 1);
  CHECK(count_of(svg, "<text") == count_of(svg, "</text>"));
  CHECK(count_of(svg, "&") == count_of(svg, "&lt;") + count_of(svg, "&amp;"));
  CHECK(svg.substr(0, 5) == "<svg ");
  CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
}

TEST_CASE("graph: long texts are cut in the picture, and broken in lines at spaces") {
  auto graph = joined_branches();
  graph.rounds[0].iterator[0].call = std::string(500, 'x');
  const auto drawn = lay_out(graph);
  CHECK(drawn.width < 2000);
  CHECK(wrapped("aa bbb c", 6) == std::vector<std::string>{"aa bbb", "c"});
  CHECK(wrapped("aaaaaaaa b", 3) == std::vector<std::string>{"aaaaaaaa", "b"});
  CHECK(wrapped("", 3) == std::vector<std::string>{""});
}

} // namespace leat::command_graph_test
