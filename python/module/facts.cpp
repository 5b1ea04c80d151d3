#include <leat/graph.hpp>
#include <leat/snapshot.hpp>

#include "python/module/convert/bytes.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/loader.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

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
  if (x.data)
    result["data"] = dict_with("files"_a = x.data->files, "records"_a = x.data->records,
                               "bytes"_a = x.data->bytes, "digest"_a = x.data->digest);
  nb::list inputs;
  for (const auto& input : x.inputs)
    inputs.append(dict_of(input));
  result["inputs"] = inputs;
  return result;
}

nb::dict dict_of(const plan_step& x) {
  return dict_with("call"_a = x.call, "inputs"_a = x.inputs, "rounds"_a = x.rounds,
                   "note"_a = x.note, "state"_a = x.state, "state_bytes"_a = x.state_bytes);
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
              result.append(dict_with("iterator"_a = steps, "function"_a = round.function));
            }
            return result;
          },
          nb::sig("def rounds(self) -> list[dict[str, typing.Any]]"),
          "In data order; the last one feeds the batch.")
      .def_ro("batch", &plan_graph::batch, "The call of batch.")
      .def_ro("epoch", &plan_graph::epoch, "How the samples become batches: an EpochFacts.")
      .def_ro("unkept", &plan_graph::unkept,
              "Sources whose records exist once and that have no journal, by their names.")
      .def_ro("feeds", &plan_graph::feeds,
              "Names of its feeds, which other processes read and serve to all ranks.")
      .def_ro("lane_limit", &plan_graph::lane_limit,
              "Which source keeps the lanes, and so the ranks, below what the others would "
              "allow, and what to do about it; None if none does.")
      .def_prop_ro(
          "cuts",
          [](const plan_graph& x) {
            nb::list result;
            for (const auto& cut : x.cuts)
              result.append(dict_with("sent"_a = cut.sent, "by_helper"_a = cut.by_helper,
                                      "by_rank"_a = cut.by_rank));
            return result;
          },
          nb::sig("def cuts(self) -> list[dict[str, typing.Any]]"),
          "Which work on a row helpers do and which the rank: first where they have the data and "
          "are sent \"items\", then where they are sent \"records\". Empty if rows are not lent.")
      .def_ro("not_lent", &plan_graph::not_lent,
              "Why rows are not lent to helpers; empty if they are.")
      .def_prop_ro("is_indexed", &plan_graph::is_indexed,
                   "The order is a formula, without state; else iterators find it, lane by lane.")
      .def_prop_ro("lane_bytes", &plan_graph::lane_bytes,
                   "Bytes of state per lane, as far as they are known.")
      .def("of_unknown_size", &plan_graph::of_unknown_size,
           "What keeps a state whose size is not known beforehand.");
  m.def(
      "graph_of",
      [](const pipeline_value& x, const std::string& device, const std::string& decoder,
         const std::string& lend) {
        return without_gil([&] { return graph_of(x.value, device, decoder, lend); });
      },
      "pipeline"_a, "device"_a = "cpu", "decoder"_a = "auto", "lend"_a = "auto",
      "Opens the data, but reads no sample. With the `device` and `decoder` of a loader, maps that "
      "make images say where they are decoded. `lend`: as HelperAccess has it.");
}

void bind_snapshot_facts(nb::module_& m) {
  nb::class_<snapshot_facts>(m, "SnapshotFacts", "What a snapshot says.")
      .def_prop_ro(
          "operators", [](const snapshot_facts& x) { return dict_of(x.pipeline.root); },
          nb::sig("def operators(self) -> dict[str, typing.Any]"),
          "The pipeline that it was taken of, as operators_of gives it.")
      .def_prop_ro(
          "lanes", [](const snapshot_facts& x) { return x.pipeline.lanes; },
          "Lanes of that pipeline.")
      .def_ro("epoch", &snapshot_facts::epoch, "Epoch of the next batch.")
      .def_ro("step", &snapshot_facts::step, "Number of the next batch in its epoch.")
      .def_ro("global_step", &snapshot_facts::global_step,
              "Steps of the job before it, left out or handed over.")
      .def_ro("world_size", &snapshot_facts::world_size, "Ranks of the job that saved it.")
      .def_ro("parts", &snapshot_facts::parts, "Parts that were put together.")
      .def_ro("largest_part", &snapshot_facts::largest_part, "Bytes of the largest of them.")
      .def_ro("in_one_file", &snapshot_facts::in_one_file,
              "They lie in the one file of a whole job.")
      .def_ro("digest", &snapshot_facts::digest,
              "Digest of what was handed over since the job began.")
      .def_ro("epoch_digest", &snapshot_facts::epoch_digest, "The same of the current epoch.")
      .def_ro("samples", &snapshot_facts::samples,
              "Samples that were handed over since the job began.")
      .def_prop_ro(
          "bad", [](const snapshot_facts& x) { return leat::python::dict_of(x.bad); },
          nb::sig("def bad(self) -> dict[str, int]"), "Bad samples among them, by cause.")
      .def_prop_ro(
          "mixes", [](const snapshot_facts& x) { return list_of(x.mixes); },
          nb::sig("def mixes(self) -> list[dict[str, typing.Any]]"),
          "What the inputs of each mix gave since the job began, mixes in data order: the cost, "
          "and for each of the inputs name, weight, samples and cost.")
      .def_ro("partial", &snapshot_facts::partial,
              "The sums lack what the missing parts would add.")
      .def_prop_ro(
          "left_out",
          [](const snapshot_facts& x) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
            for (const auto& range : x.left_out)
              result.emplace_back(range.first, range.last);
            return result;
          },
          "Steps of the job that were, or will be, left out: (first, last).")
      .def_prop_ro(
          "weights",
          [](const snapshot_facts& x) {
            weights_by_step result;
            for (const auto& change : x.weights)
              result[change.step] = change.weights;
            return result;
          },
          "Changes of the weights of the job's mix, by the steps from which they hold.")
      .def_ro("skipped", &snapshot_facts::skipped,
              "Newer sets of a directory that were passed over, and why.");
  m.def(
      "newest_snapshot",
      [](const path_text& directory, bool allow_older) {
        const auto found = newest_snapshot(directory, {allow_older});
        nb::list parts;
        for (const auto& x : found.parts)
          parts.append(to_bytes(x));
        return parts;
      },
      "directory"_a, nb::kw_only(), "allow_older"_a = false,
      nb::sig("def newest_snapshot(directory: str | os.PathLike[str], *, allow_older: bool = "
              "False) -> list[bytes]"),
      "The parts of the newest complete set, as Loader.restore_parts takes them; empty if there "
      "is none.");
  m.def(
      "read_snapshot",
      [](const path_text& path, bool allow_older) { return read_snapshot(path, {allow_older}); },
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
        for (const auto& entry : without_gil([&] { return passed_over_in(x.value); }))
          result.append(dict_with("why"_a = entry.why, "what"_a = entry.what,
                                  "count"_a = entry.count, "first"_a = entry.first));
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
