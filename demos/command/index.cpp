#include "demos/command/index.hpp"

#include "demos/command/data_arguments.hpp"
#include "demos/command/option_values.hpp"
#include "demos/command/output.hpp"
#include "runtime/stage.hpp"

#include <leat/source.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

namespace leat::command {

namespace {

struct options {
  data_arguments data;
  bool json = false;
};

void print_facts(const std::string& kind, const source_facts& x, double seconds) {
  print_line("kind     " + kind);
  print_line("files    " + with_commas(x.files));
  print_line("records  " + with_commas(x.records));
  print_line("bytes    " + with_commas(x.bytes) + " (" + readable_bytes(x.bytes) + ")");
  print_line("digest   " + to_string(x.digest));
  print_line("opened in " + fixed(seconds, 3) + " s");
}

void index_data(const options& x) {
  auto start = std::chrono::steady_clock::now();
  auto data = data_pipeline(x.data);
  const auto& source = data.root();
  if (!source.data)
    bad_usage("DATA", "standard input", "data that can be indexed");
  auto facts = source.data->facts();
  auto seconds = in_seconds(std::chrono::steady_clock::now() - start);
  if (!x.json)
    return print_facts(source.op, facts, seconds);
  print_line(nlohmann::json{
      {"kind", source.op},
      {"files", facts.files},
      {"records", facts.records},
      {"bytes", facts.bytes},
      {"digest", to_string(facts.digest)},
      {"seconds",
       seconds}}.dump());
}

} // namespace

void add_index(CLI::App& app) {
  auto* sub = app.add_subcommand("index", "Build the indexes of the data, and say what it is");
  auto x = std::make_shared<options>();
  add_data_arguments(*sub, x->data);
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { index_data(*x); });
}

} // namespace leat::command
