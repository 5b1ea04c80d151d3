#include "demos/command/inspect.hpp"

#include "demos/command/output.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/snapshot_store.hpp"

#include <leat/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

struct options {
  std::string path;
  bool allow_older = false;
  bool json = false;
};

/// What is shown: one part, or a set added up.
struct state {
  snapshot sum;
  std::uint64_t parts = 1;
  std::vector<std::string> skipped = {};
};

state read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file)
    throw error(errc::not_found, {.stage = "snapshot", .file = path, .got = std::strerror(errno)});
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  const std::vector<snapshot> part{decode(bytes, path)};
  state result{merge(part, false)};
  result.sum.world_size = part.front().world_size;
  return result;
}

state read_directory(const std::string& path, bool allow_older) {
  auto found = snapshot_store{path}.newest(allow_older);
  if (!found)
    throw error(errc::not_found,
                {.stage = "snapshot", .file = path, .needed = "a complete snapshot set"});
  auto world_size = found->parts.front().world_size;
  state result{merge(found->parts, true), found->parts.size(), found->skipped};
  result.sum.world_size = world_size;
  return result;
}

json facts_to_json(const pipeline_facts& x) {
  auto maps = json::array();
  for (const auto& [name, parameters] : x.maps)
    maps.push_back({{"name", name}, {"parameters", parameters}});
  constexpr const char* shuffles[] = {"none", "full", "windowed"};
  return {{"source", x.source_kind},
          {"patterns", x.patterns},
          {"parameters", x.source_parameters},
          {"files", x.data.files},
          {"records", x.data.records},
          {"bytes", x.data.bytes},
          {"data_digest", to_string(x.data.digest)},
          {"shuffle", shuffles[static_cast<std::size_t>(x.shuffle.kind)]},
          {"seed", x.shuffle.seed},
          {"window", x.shuffle.window},
          {"maps", maps},
          {"global_batch", x.batch_rows},
          {"lanes", x.lanes},
          {"end", x.end == epoch_end::drop ? "drop" : "mask"},
          {"fields", x.fields}};
}

json to_json(const state& x) {
  return {{"epoch", x.sum.epoch},
          {"step", x.sum.step},
          {"global_step", x.sum.global_step},
          {"digest", to_string(x.sum.sums.digest)},
          {"epoch_digest", to_string(x.sum.sums.epoch_digest)},
          {"samples", x.sum.sums.samples},
          {"bad", bad_to_json(x.sum.sums.bad)},
          {"partial", x.sum.sums.partial},
          {"world_size", x.sum.world_size},
          {"parts", x.parts},
          {"skipped", x.skipped},
          {"pipeline", facts_to_json(x.sum.pipeline)}};
}

void print_state(const state& x) {
  const auto& facts = x.sum.pipeline;
  auto partial = x.sum.sums.partial ? "  (of these parts only)" : "";
  print_line("next batch    epoch " + std::to_string(x.sum.epoch) + " step "
             + std::to_string(x.sum.step) + "  (job step " + with_commas(x.sum.global_step) + ")");
  print_line("parts         " + std::to_string(x.parts) + " of "
             + std::to_string(x.sum.world_size));
  print_line("samples       " + with_commas(x.sum.sums.samples) + partial);
  print_line("digest        " + to_string(x.sum.sums.digest) + partial);
  print_line("epoch digest  " + to_string(x.sum.sums.epoch_digest) + partial);
  print_line("bad samples   " + bad_to_json(x.sum.sums.bad).dump());
  print_line("data          " + facts.source_kind + ": " + with_commas(facts.data.records)
             + " records in " + with_commas(facts.data.files) + " files, digest "
             + to_string(facts.data.digest));
  print_line("order         seed " + std::to_string(facts.shuffle.seed) + ", global batch "
             + std::to_string(facts.batch_rows) + ", lanes " + std::to_string(facts.lanes));
  for (const auto& [name, parameters] : facts.maps)
    print_line("map           " + name + (parameters.empty() ? "" : " " + parameters));
}

void inspect(const options& x) {
  auto found = std::filesystem::is_directory(x.path) ? read_directory(x.path, x.allow_older)
                                                     : read_file(x.path);
  for (const auto& set : found.skipped)
    print_notice("inspect", "skipped " + set);
  if (x.json)
    print_line(to_json(found).dump());
  else
    print_state(found);
}

} // namespace

void add_inspect(CLI::App& app) {
  auto* sub =
      app.add_subcommand("inspect", "Show a snapshot, or the newest complete set of a directory");
  auto x = std::make_shared<options>();
  sub->add_option("SNAPSHOT", x->path, "A snapshot file, or a directory of them")->required();
  sub->add_flag("--allow-older", x->allow_older,
                "Take an older set when the newest has a torn file");
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { inspect(*x); });
}

} // namespace leat::command
