#include <leat/graph.hpp>
#include <leat/snapshot.hpp>

#include "python/module/bytes.hpp"
#include "python/module/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/statistics.hpp"
#include "python/module/without_gil.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

nb::dict dict_of(const operator_facts& x) {
  nb::dict result;
  result["op"] = x.op;
  nb::dict options;
  for (const auto& option : x.options)
    options[option.name.c_str()] = nb::cast(option.value);
  result["options"] = options;
  if (x.data) {
    nb::dict data;
    data["files"] = x.data->files;
    data["records"] = x.data->records;
    data["bytes"] = x.data->bytes;
    data["digest"] = x.data->digest;
    result["data"] = data;
  }
  nb::list inputs;
  for (const auto& input : x.inputs)
    inputs.append(dict_of(input));
  result["inputs"] = inputs;
  return result;
}

nb::dict dict_of(const plan_step& x) {
  nb::dict result;
  result["call"] = x.call;
  result["inputs"] = x.inputs;
  result["rounds"] = x.rounds;
  result["note"] = x.note;
  result["state"] = x.state;
  result["state_bytes"] = x.state_bytes;
  return result;
}

void bind_graph(nb::module_& m) {
  nb::class_<plan_graph>(m, "PlanGraph", "Where each part of a pipeline runs and what it keeps.")
      .def_prop_ro(
          "rounds",
          [](const plan_graph& x) {
            nb::list result;
            for (const auto& round : x.rounds) {
              nb::list steps;
              for (const auto& step : round.iterator)
                steps.append(dict_of(step));
              nb::dict made;
              made["iterator"] = steps;
              made["function"] = round.function;
              result.append(made);
            }
            return result;
          },
          nb::sig("def rounds(self) -> list[dict[str, typing.Any]]"),
          "In data order; the last one feeds the batch.")
      .def_ro("batch", &plan_graph::batch)
      .def_ro("epoch", &plan_graph::epoch)
      .def_ro("unkept", &plan_graph::unkept)
      .def_ro("lane_limit", &plan_graph::lane_limit)
      .def_prop_ro("is_indexed", &plan_graph::is_indexed)
      .def_prop_ro("lane_bytes", &plan_graph::lane_bytes)
      .def("of_unknown_size", &plan_graph::of_unknown_size);
  m.def(
      "graph_of",
      [](const pipeline_value& x) { return without_gil([&] { return graph_of(x.value); }); },
      "pipeline"_a, "Opens the data, but reads no sample.");
}

void bind_snapshot_facts(nb::module_& m) {
  nb::class_<snapshot_facts>(m, "SnapshotFacts", "What a snapshot says.")
      .def_prop_ro(
          "operators", [](const snapshot_facts& x) { return dict_of(x.pipeline.root); },
          nb::sig("def operators(self) -> dict[str, typing.Any]"))
      .def_prop_ro("lanes", [](const snapshot_facts& x) { return x.pipeline.lanes; })
      .def_ro("epoch", &snapshot_facts::epoch)
      .def_ro("step", &snapshot_facts::step)
      .def_ro("global_step", &snapshot_facts::global_step)
      .def_ro("world_size", &snapshot_facts::world_size)
      .def_ro("parts", &snapshot_facts::parts)
      .def_ro("largest_part", &snapshot_facts::largest_part)
      .def_ro("in_one_file", &snapshot_facts::in_one_file)
      .def_ro("digest", &snapshot_facts::digest)
      .def_ro("epoch_digest", &snapshot_facts::epoch_digest)
      .def_ro("samples", &snapshot_facts::samples)
      .def_prop_ro(
          "bad",
          [](const snapshot_facts& x) {
            nb::dict result;
            for (std::size_t i = 0; i < num_causes; ++i)
              result[std::string{to_string(static_cast<cause>(i))}.c_str()] = x.bad[i];
            return result;
          },
          nb::sig("def bad(self) -> dict[str, int]"))
      .def_prop_ro(
          "mixes", [](const snapshot_facts& x) { return list_of(x.mixes); },
          nb::sig("def mixes(self) -> list[dict[str, typing.Any]]"),
          "What the inputs of each mix gave since the job began, mixes in data order: the cost, "
          "and for each of the inputs name, weight, samples and cost.")
      .def_ro("partial", &snapshot_facts::partial)
      .def_prop_ro("left_out",
                   [](const snapshot_facts& x) {
                     std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
                     for (const auto& range : x.left_out)
                       result.emplace_back(range.first, range.last);
                     return result;
                   })
      .def_prop_ro(
          "weights",
          [](const snapshot_facts& x) {
            weights_by_step result;
            for (const auto& change : x.weights)
              result[change.step] = change.weights;
            return result;
          },
          "Changes of the weights of the job's mix, by the steps from which they hold.")
      .def_ro("skipped", &snapshot_facts::skipped);
  m.def(
      "newest_snapshot",
      [](const std::string& directory, bool allow_older) {
        const auto found = newest_snapshot(directory, {allow_older});
        nb::list parts;
        for (const auto& x : found.parts)
          parts.append(to_bytes(x));
        return parts;
      },
      "directory"_a, nb::kw_only(), "allow_older"_a = false,
      nb::sig("def newest_snapshot(directory: str, *, allow_older: bool = False) -> list[bytes]"),
      "The parts of the newest complete set, as Loader.restore_parts takes them; empty if there "
      "is none.");
  m.def(
      "read_snapshot",
      [](const std::string& path, bool allow_older) { return read_snapshot(path, {allow_older}); },
      "path"_a, nb::kw_only(), "allow_older"_a = false,
      "What the newest complete set of a directory says, or what a file says: one rank's part, or "
      "the parts of a whole job.");
  m.def(
      "inspect_snapshot",
      [](const std::vector<nb::bytes>& parts) { return inspect_snapshot(parts_of(parts)); },
      "parts"_a, "What the bytes of snapshot() say.");
  m.def(
      "pipeline_of",
      [](const snapshot_facts& x) {
        const parsing_keeps made;
        auto value = pipeline_of(x);
        return pipeline_value{std::move(value), made.all()};
      },
      "facts"_a, "The pipeline that a snapshot was taken of, made again.");
}

} // namespace

void bind_facts(nb::module_& m) {
  m.def(
      "operators_of", [](const pipeline_value& x) { return dict_of(operators_of(x.value)); },
      "pipeline"_a, nb::sig("def operators_of(pipeline: Pipeline) -> dict[str, typing.Any]"),
      "The last operator with all before it. Opens no data.");
  m.def(
      "operators_with_data",
      [](const pipeline_value& x) {
        return dict_of(without_gil([&] { return operators_with_data(x.value); }));
      },
      "pipeline"_a, nb::sig("def operators_with_data(pipeline: Pipeline) -> dict[str, typing.Any]"),
      "As operators_of, and what each source holds. Opens the data.");
  m.def(
      "passed_over_in",
      [](const pipeline_value& x) {
        nb::list result;
        for (const auto& entry : without_gil([&] { return passed_over_in(x.value); })) {
          nb::dict one;
          one["why"] = entry.why;
          one["what"] = entry.what;
          one["count"] = entry.count;
          one["first"] = entry.first;
          result.append(one);
        }
        return result;
      },
      "pipeline"_a,
      nb::sig("def passed_over_in(pipeline: Pipeline) -> list[dict[str, typing.Any]]"),
      "What the sources pass over in their data, by reason: `why` (\"hard_link\"), `what` (\"hard "
      "links\"), `count`, and the `first` entry. Opens the data.");
  bind_graph(m);
  bind_snapshot_facts(m);
}

} // namespace leat::python
