#include "runtime/base/utf8.hpp"

#include <leat/snapshot.hpp>

#include "tools/leat/output.hpp"
#include "tools/leat/shares.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

struct inspect_options {
  std::string path;
  bool allow_older = false;
  bool json = false;
  /// Prints the text form of the pipeline in place of all else.
  bool pipeline = false;
};

json as_json(const option_value& value) {
  auto of = [](const auto& x) { return json(x); };
  if (const auto* text = std::get_if<std::string>(&value))
    return as_utf8(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    auto list = json::array();
    for (const auto& x : *texts)
      list.push_back(as_utf8(x));
    return list;
  }
  return std::visit(of, value);
}

json options_to_json(const operator_facts& x) {
  auto options = json::object();
  for (const auto& option : x.options)
    options[as_utf8(option.name)] = as_json(option.value);
  return options;
}

json operators_to_json(const operator_facts& x) {
  json tree{{"op", as_utf8(x.op)}, {"options", options_to_json(x)}};
  for (const auto& input : x.inputs)
    tree["inputs"].push_back(operators_to_json(input));
  return tree;
}

/// Removes from `options` where the data lie, and returns it as a list.
json take_patterns(json& options) {
  auto patterns = json::array();
  for (const char* name : {"patterns", "directory", "path"})
    if (options.contains(name)) {
      patterns = options[name].is_array() ? options[name] : json::array({options[name]});
      options.erase(name);
    }
  return patterns;
}

json source_to_json(const operator_facts& x) {
  const auto data = x.data.value_or(source_facts{});
  auto parameters = options_to_json(x);
  auto patterns = take_patterns(parameters);
  return {{"source", as_utf8(x.op)},
          {"patterns", patterns},
          {"parameters", parameters},
          {"files", data.files},
          {"records", data.records},
          {"bytes", data.bytes},
          {"data_digest", to_string(data.digest)}};
}

/// The operators of some kinds, in data order.
struct operator_lists {
  std::vector<const operator_facts*> sources = {};
  std::vector<const operator_facts*> shuffles = {};
  std::vector<const operator_facts*> maps = {};
};

operator_lists lists_of(const pipeline_facts& x) {
  operator_lists lists;
  for_each_operator(x.root, [&](const operator_facts& node) {
    if (node.is_source())
      lists.sources.push_back(&node);
    else if (node.op == "shuffle")
      lists.shuffles.push_back(&node);
    else if (is_map(node))
      lists.maps.push_back(&node);
  });
  return lists;
}

/// What is read: for a single source its facts and, if there is at most one, its shuffle.
json data_to_json(const operator_lists& x) {
  if (x.sources.size() > 1) {
    auto list = json::array();
    for (const auto* source : x.sources)
      list.push_back(source_to_json(*source));
    return {{"sources", list}};
  }
  auto one = source_to_json(*x.sources.front());
  if (x.shuffles.empty())
    one["shuffle"] = "none";
  if (x.shuffles.size() == 1) {
    const auto options = options_to_json(*x.shuffles.front());
    one["shuffle"] = options["kind"];
    one["seed"] = options["seed"];
    one["window"] = options["window"];
  }
  return one;
}

json facts_to_json(const pipeline_facts& x) {
  const auto lists = lists_of(x);
  auto facts = data_to_json(lists);
  facts["maps"] = json::array();
  for (const auto* map : lists.maps)
    facts["maps"].push_back(options_to_json(*map));
  const auto batch = options_to_json(x.root);
  facts.update({{"global_batch", x.batch_rows()},
                {"lanes", x.lanes},
                {"end", batch["end"]},
                {"fields", batch["fields"]},
                {"operators", operators_to_json(x.root)}});
  return facts;
}

json to_json(const lane_sizes& x) {
  auto rounds = json::array();
  for (const auto& [round, bytes] : x.rounds)
    rounds.push_back(bytes);
  rounds.push_back(x.last_round);
  return {{"bytes", x.bytes}, {"largest_lane", x.largest_lane}, {"rounds", rounds}};
}

json to_json(const std::vector<step_range>& xs) {
  auto list = json::array();
  for (const auto& x : xs)
    list.push_back({x.first, x.last});
  return list;
}

json to_json(const std::vector<weight_change>& xs) {
  auto list = json::array();
  for (const auto& x : xs)
    list.push_back({{"step", x.step}, {"weights", x.weights}});
  return list;
}

json to_json(const snapshot_facts& x) {
  return {{"epoch", x.epoch},
          {"step", x.step},
          {"global_step", x.global_step},
          {"digest", to_string(x.digest)},
          {"epoch_digest", to_string(x.epoch_digest)},
          {"samples", x.samples},
          {"bad", bad_to_json(x.bad)},
          {"mixes", mixes_to_json(x.mixes)},
          {"partial", x.partial},
          {"left_out", to_json(x.left_out)},
          {"weights", to_json(x.weights)},
          {"state", to_json(x.state)},
          {"world_size", x.world_size},
          {"parts", x.parts},
          {"largest_part", x.largest_part},
          {"in_one_file", x.in_one_file},
          {"skipped", x.skipped},
          {"pipeline", facts_to_json(x.pipeline)}};
}

void print_pipeline(const pipeline_facts& x) {
  const auto lists = lists_of(x);
  for (const auto* source : lists.sources) {
    const auto data = source->data.value_or(source_facts{});
    print_line("data          " + source->op + ": " + with_commas(data.records) + " records in "
               + with_commas(data.files) + " files, digest " + to_string(data.digest));
  }
  print_line("operators     " + shape_of(x.root));
  for (const auto* shuffle : lists.shuffles)
    print_line("shuffle       " + shuffle->get<std::string>("kind") + ", seed "
               + std::to_string(shuffle->get<std::uint64_t>("seed")));
  print_line("batch         " + std::to_string(x.batch_rows()) + " rows, lanes "
             + std::to_string(x.lanes));
  for (const auto* map : lists.maps) {
    const auto parameters = map->get<std::string>("parameters");
    print_line("map           " + map->get<std::string>("name")
               + (parameters.empty() ? "" : " " + parameters));
  }
}

void print_sizes(const lane_sizes& x) {
  if (x.bytes == 0)
    return print_line("state         none: numbers are enough");
  print_line("state         " + with_commas(x.lanes) + " lanes, " + with_commas(x.bytes)
             + " bytes, at most " + with_commas(x.largest_lane) + " in a lane");
  for (const auto& [round, bytes] : x.rounds)
    print_line("  round " + std::to_string(round + 1) + "     " + with_commas(bytes) + " bytes");
  print_line("  last round  " + with_commas(x.last_round) + " bytes");
}

std::string parts_text(const snapshot_facts& x) {
  const auto ranks = std::to_string(x.world_size);
  const auto number = x.in_one_file ? "one file, the set of a job with " + ranks + " ranks"
                                    : std::to_string(x.parts) + " of " + ranks;
  return number + ", the largest of " + with_commas(x.largest_part) + " bytes";
}

void print_facts(const snapshot_facts& x) {
  auto partial = x.partial ? "  (of these parts only)" : "";
  print_line("next batch    epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step)
             + "  (job step " + with_commas(x.global_step) + ")");
  print_line("parts         " + parts_text(x));
  print_line("samples       " + with_commas(x.samples) + partial);
  print_line("digest        " + to_string(x.digest) + partial);
  print_line("epoch digest  " + to_string(x.epoch_digest) + partial);
  print_line("bad samples   " + bad_to_json(x.bad).dump());
  for (const auto& line : share_lines(x.mixes, 14))
    print_line(line + partial);
  for (const auto& steps : x.left_out)
    print_line("left out      job steps " + std::to_string(steps.first) + " to "
               + std::to_string(steps.last));
  for (const auto& change : x.weights)
    print_line("weights       from job step " + std::to_string(change.step) + ": "
               + json(change.weights).dump());
  print_sizes(x.state);
  print_pipeline(x.pipeline);
}

void print_text(const pipeline& x) {
  auto text = to_string(x);
  text.pop_back(); // print_line adds the newline
  print_line(text);
}

void inspect(const inspect_options& x) {
  const auto found = read_snapshot(x.path, {.allow_older = x.allow_older});
  for (const auto& set : found.skipped)
    print_notice("inspect", "skipped " + set);
  if (x.pipeline)
    print_text(pipeline_of(found));
  else if (x.json)
    print_line(to_json(found).dump());
  else
    print_facts(found);
}

} // namespace

void add_inspect(CLI::App& app) {
  auto* sub =
      app.add_subcommand("inspect", "Show a snapshot, or the newest complete set of a directory");
  auto x = std::make_shared<inspect_options>();
  sub->add_option("SNAPSHOT", x->path,
                  "A snapshot file, of one rank or of a whole job, or a directory of them")
      ->required();
  sub->add_flag("--allow-older", x->allow_older, "Take an older set if the newest has a torn file");
  auto* json = sub->add_flag("--json", x->json, "Print a JSON object");
  sub->add_flag("--pipeline", x->pipeline,
                "Print only the pipeline, in text form: a FILE for run --pipeline")
      ->excludes(json);
  sub->callback([x] { inspect(*x); });
}

} // namespace leat::command
