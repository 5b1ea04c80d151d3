#include "runtime/storage/durable_file.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/graph/graph_svg.hpp"
#include "tools/leat/graph/graph_text.hpp"
#include "tools/leat/job_options.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

namespace leat::command {

namespace {

using nlohmann::json;

struct graph_options {
  order_options order;
  std::optional<transform> maps;
  std::string device = "cpu";
  std::string decoder = "auto";
  std::string lend = "auto";
  std::string svg;
  bool json = false;
};

json to_json(const plan_step& x) {
  return {{"call", x.call},     {"inputs", x.inputs},
          {"rounds", x.rounds}, {"note", x.note},
          {"state", x.state},   {"state_bytes", x.state_bytes ? json(*x.state_bytes) : json()}};
}

json to_json(const plan_round& x) {
  auto iterator = json::array();
  for (const auto& step : x.iterator)
    iterator.push_back(to_json(step));
  return {{"iterator", iterator}, {"function", x.function}};
}

json cuts_to_json(const plan_graph& x) {
  auto cuts = json::array();
  for (const auto& cut : x.cuts)
    cuts.push_back({{"sent", cut.sent}, {"by_helper", cut.by_helper}, {"by_rank", cut.by_rank}});
  return cuts;
}

json to_json(const plan_graph& x) {
  auto rounds = json::array();
  for (const auto& round : x.rounds)
    rounds.push_back(to_json(round));
  const auto& epoch = x.epoch;
  return {{"order", x.is_indexed() ? "indexed" : "iterators"},
          {"rounds", rounds},
          {"batch", x.batch},
          {"global_batch", epoch.batch_rows},
          {"lanes", epoch.lanes},
          {"end", name_of(epoch.end)},
          {"batches", epoch.batches ? json(*epoch.batches) : json()},
          {"world_sizes", x.is_indexed() ? json() : json(epoch.world_sizes())},
          {"needs_agreement", epoch.needs_agreement()},
          {"no_snapshots_for", x.unkept},
          {"feeds", x.feeds},
          {"cuts", cuts_to_json(x)},
          {"not_lent", x.not_lent.empty() ? json() : json(x.not_lent)},
          {"lane_bytes", x.lane_bytes()},
          {"of_unknown_size", x.of_unknown_size()}};
}

void draw(const graph_options& x) {
  const auto job = job_pipeline(x.order, x.maps);
  const auto graph = graph_of(job, x.device, x.decoder, x.lend);
  if (graph.lane_limit)
    print_notice("graph", *graph.lane_limit);
  if (!x.svg.empty())
    write_output(x.svg, to_svg(graph), "--svg");
  auto text = x.json ? to_json(graph).dump() + '\n' : to_text(graph);
  text.pop_back(); // print_line ends it again
  print_line(text);
}

} // namespace

void add_graph(CLI::App& app) {
  auto* sub = app.add_subcommand(
      "graph", "Draw what runs where in a pipeline, what keeps a state, and what limits it");
  auto x = std::make_shared<graph_options>();
  add_order_options(*sub, x->order);
  add_transform_option(*sub, x->maps);
  add_device_options(*sub, x->device, x->decoder);
  add_lend_option(*sub, x->lend);
  sub->add_option("--svg", x->svg, "Also draw it into this file")->type_name("FILE");
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { draw(*x); });
}

} // namespace leat::command
