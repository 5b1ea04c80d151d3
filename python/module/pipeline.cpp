#include <leat/graph.hpp>
#include <leat/order.hpp>
#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/row_index.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/convert/remote.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

/// The pipeline with the next operator, which keeps the same Python objects as the one before it.
pipeline_value then(const pipeline_value& before, pipeline next) {
  return {std::move(next), before.kept};
}
template <class Stage>
pipeline_value then(const pipeline_value& before, pipeline next, const Stage& with) {
  auto result = then(before, std::move(next));
  result.kept.add(with.kept);
  return result;
}

std::vector<pipeline> values_of(const std::vector<const pipeline_value*>& inputs,
                                kept_objects& kept) {
  std::vector<pipeline> result;
  for (const auto* x : inputs) {
    result.push_back(x->value);
    kept.add(x->kept);
  }
  return result;
}

pipeline_value parse(const std::string& text) {
  const parsing_keeps made;
  auto value = parse_pipeline(text);
  return {std::move(value), made.all()};
}

void bind_operators(nb::class_<pipeline_value>& type) {
  type.def(
          "shuffle",
          [](const pipeline_value& x, std::uint64_t seed, shuffle_kind kind, std::uint64_t window) {
            return then(x, x.value.shuffle({seed, kind, window}));
          },
          nb::kw_only(), "seed"_a = 0, "kind"_a = shuffle_kind::full, "window"_a = 4,
          "A new order in every epoch.")
      .def(
          "map",
          [](const pipeline_value& x, const map_value& stage, bool isolate) {
            return then(x, x.value.map(stage.value, {.isolate = isolate}), stage);
          },
          "stage"_a, nb::kw_only(), "isolate"_a = false,
          "Appends a map: one of leat's own, or a MapStage. `isolate`: it runs in processes, one "
          "per worker; a sample that crashes its process twice is bad (`killed`).")
      .def(
          "map",
          [](const pipeline_value& x, std::string name, nb::callable function,
             std::string parameters, bool per_worker, bool batched, std::size_t processes,
             bool isolate) {
            const auto stage = make_map(std::move(name), std::move(function), std::move(parameters),
                                        per_worker, batched, processes);
            return then(x, x.value.map(stage.value, {.isolate = isolate}), stage);
          },
          "name"_a, "function"_a, nb::kw_only(), "parameters"_a = "", "per_worker"_a = false,
          "batched"_a = false, "processes"_a = 0, "isolate"_a = false,
          nb::sig("def map(self, name: str, function: collections.abc.Callable[..., typing.Any], "
                  "*, parameters: str = '', per_worker: bool = False, batched: bool = False, "
                  "processes: int = 0, isolate: bool = False) -> Pipeline"),
          "Appends a map of your own: see MapStage.")
      .def(
          "filter",
          [](const pipeline_value& x, const filter_value& stage) {
            return then(x, x.value.filter(stage.value), stage);
          },
          "stage"_a, "The samples that a filter keeps.")
      .def(
          "filter",
          [](const pipeline_value& x, std::string name, nb::callable function,
             std::string parameters, bool of_id, std::size_t processes) {
            const auto stage = make_filter(std::move(name), std::move(function),
                                           std::move(parameters), of_id, processes);
            return then(x, x.value.filter(stage.value), stage);
          },
          "name"_a, "function"_a, nb::kw_only(), "parameters"_a = "", "of_id"_a = false,
          "processes"_a = 0,
          nb::sig("def filter(self, name: str, function: collections.abc.Callable[..., bool], *, "
                  "parameters: str = '', of_id: bool = False, processes: int = 0) -> Pipeline"),
          "A filter of your own: see FilterStage.")
      .def(
          "flat_map",
          [](const pipeline_value& x, const flat_map_value& stage) {
            return then(x, x.value.flat_map(stage.value), stage);
          },
          "stage"_a, "Each sample's children, in its place: none, one or many.")
      .def(
          "scan",
          [](const pipeline_value& x, const scan_value& stage) {
            return then(x, x.value.scan(stage.value), stage);
          },
          "stage"_a, "A map with state: a field that depends on the samples before, in the lane.")
      .def(
          "take", [](const pipeline_value& x, std::uint64_t n) { return then(x, x.value.take(n)); },
          "n"_a, "The first n samples of an epoch, or all if there are fewer.")
      .def(
          "skip", [](const pipeline_value& x, std::uint64_t n) { return then(x, x.value.skip(n)); },
          "n"_a, "All but the first n samples of an epoch.")
      .def(
          "repeat",
          [](const pipeline_value& x, std::uint64_t n) { return then(x, x.value.repeat(n)); },
          "n"_a, "The samples n times in one epoch; each pass is shuffled differently.")
      .def(
          "enumerate",
          [](const pipeline_value& x, std::string field) {
            return then(x, x.value.enumerate(std::move(field)));
          },
          "field"_a = "index",
          "Adds a field, int64: the sample's number in the epoch, in the order at this point.")
      .def(
          "sample",
          [](const pipeline_value& x, double p, std::uint64_t seed) {
            return then(x, x.value.sample(p, seed));
          },
          "p"_a, "seed"_a = 0, "Each sample with the probability p: different ones in every epoch.")
      .def(
          "deduplicate",
          [](const pipeline_value& x, std::vector<std::string> fields, std::uint64_t keys,
             deduplicate_kind kind) {
            return then(x, x.value.deduplicate(std::move(fields), keys, kind));
          },
          "fields"_a, "keys"_a, nb::kw_only(), "kind"_a = deduplicate_kind::window,
          "The samples without those whose fields have the bytes of one that was kept before, in "
          "the lane and epoch. `keys`: how many are remembered, over all lanes.")
      .def(
          "read_files",
          [](const pipeline_value& x, file_format format, std::string field, path_text folder,
             std::map<std::string, std::string> types, const remote_argument& remote) {
            return then(x, x.value.read_files(format, {std::move(field), std::move(folder),
                                                       std::move(types), remote.options()}));
          },
          "format"_a, nb::kw_only(), "field"_a = "text", "folder"_a = "",
          "types"_a = std::map<std::string, std::string>{}, "remote"_a = nb::none(),
          "The samples in the files that the samples here name. `types`: of fields of JSON lines.")
      .def(
          "shuffle_buffer",
          [](const pipeline_value& x, std::uint64_t n, std::uint64_t seed) {
            return then(x, x.value.shuffle_buffer(n, seed));
          },
          "n"_a, "seed"_a = 0,
          "The samples in an order drawn from a buffer of n references, over all lanes.")
      .def(
          "length_bucket",
          [](const pipeline_value& x, std::string field, std::vector<std::uint64_t> boundaries,
             std::uint64_t group, std::uint64_t window) {
            return then(
                x, x.value.length_bucket(std::move(field), std::move(boundaries), {group, window}));
          },
          "field"_a, "boundaries"_a, nb::kw_only(), "group"_a, "window"_a,
          "The samples in groups of similar length, of which at most `window` wait for others.")
      .def(
          "token_budget",
          [](const pipeline_value& x, std::string field, std::uint64_t tokens, std::uint64_t rows,
             bool padded) {
            return then(x, x.value.token_budget(std::move(field), tokens, {rows, padded}));
          },
          "field"_a, "tokens"_a, nb::kw_only(), "rows"_a, "padded"_a = false,
          "Batches of at most `rows` samples that have no more than `tokens` tokens together.")
      .def(
          "pack",
          [](const pipeline_value& x, std::string field, std::uint64_t length, std::uint64_t bins,
             bool split, std::optional<std::uint64_t> delimiter, std::uint64_t pad, pack_fit fit,
             pack_cut cut, bool labels, std::int64_t ignore_index, bool cu_seqlens, bool segment,
             bool offset) {
            return then(x, x.value.pack(std::move(field), length,
                                        {bins, split, delimiter, pad, fit, cut, labels,
                                         ignore_index, cu_seqlens, segment, offset}));
          },
          "field"_a, "length"_a, nb::kw_only(), "bins"_a = 8, "split"_a = false,
          "delimiter"_a = nb::none(), "pad"_a = 0, "fit"_a = pack_fit::first,
          "cut"_a = pack_cut::never, "labels"_a = false, "ignore_index"_a = -100,
          "cu_seqlens"_a = false, "segment"_a = true, "offset"_a = true,
          "Samples of `length` elements, put together from several documents.")
      .def(
          "journal",
          [](const pipeline_value& x, path_text directory, bool sync, std::uint64_t file_bytes) {
            return then(x, x.value.journal(std::move(directory), {sync, file_bytes}));
          },
          "directory"_a, nb::kw_only(), "sync"_a = false,
          "file_bytes"_a = journal_options{}.file_bytes,
          "The same pipeline, with a journal for each source whose records exist once.")
      .def(
          "batch",
          [](const pipeline_value& x, std::uint64_t rows, std::uint64_t lanes, epoch_end end,
             std::vector<std::string> fields) {
            return then(x, x.value.batch(rows, {lanes, end, std::move(fields)}));
          },
          "rows"_a, nb::kw_only(), "lanes"_a = 0, "end"_a = epoch_end::automatic,
          "fields"_a = std::vector<std::string>{},
          "Rows of the global batch, over all ranks. Call it last.");
}

void bind_facts_of_pipelines(nb::module_& m, nb::class_<pipeline_value>& type) {
  type.def(
          "size",
          [](const pipeline_value& x) { return without_gil([&] { return x.value.size(); }); },
          "Number of samples per epoch, before the end rule. Opens the data.")
      .def(
          "batches_per_epoch",
          [](const pipeline_value& x) {
            return without_gil([&] { return x.value.batches_per_epoch(); });
          },
          "Steps of one epoch; None if they are not known in advance. Opens the data.")
      .def("__str__", [](const pipeline_value& x) { return to_string(x.value); })
      .def("__repr__", [](const pipeline_value& x) { return to_string(x.value); })
      .def(
          "__eq__",
          [](const pipeline_value& x, nb::handle other) -> nb::object {
            const pipeline_value* y = nullptr;
            if (!nb::try_cast(other, y) || !y)
              return nb::borrow(Py_NotImplemented);
            return nb::bool_(x.value == y->value);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const pipeline_value& x) {
             return static_cast<Py_ssize_t>(std::hash<std::string>{}(to_string(x.value)) >> 1);
           })
      .def(
          "_repr_html_",
          [](nb::handle x) {
            return nb::module_::import_("leat.display").attr("pipeline_html")(x);
          },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "__reduce__",
          [](const pipeline_value& x) {
            return nb::module_::import_("leat._pickling")
                .attr("reduce")(to_string(x.value), x.kept.all());
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__copy__", [](nb::handle_t<pipeline_value> x) { return nb::borrow(x); },
          nb::sig("def __copy__(self) -> Pipeline"))
      .def(
          "__deepcopy__", [](nb::handle_t<pipeline_value> x, nb::handle) { return nb::borrow(x); },
          "memo"_a, nb::sig("def __deepcopy__(self, memo: object) -> Pipeline"))
      // For pickles of older versions, which hold the text.
      .def("__setstate__", [](pipeline_value* to, const std::string& text) {
        new (to) pipeline_value(parse(text));
      });
  m.def(
      "_keep",
      [](const pipeline_value& x, const std::vector<nb::object>& objects) {
        auto result = x;
        for (const auto& one : objects)
          result.kept.add(one);
        return result;
      },
      "pipeline"_a, "objects"_a);
  m.def(
      "is_once", [](const pipeline_value& x) { return is_once(x.value); }, "pipeline"_a,
      "True if records of the pipeline exist once (standard_input, once).");
  m.def(
      "end_of", [](const pipeline_value& x) { return end_of(x.value); }, "pipeline"_a,
      "What happens at the end of an epoch: never automatic. Opens no data.");
  m.def(
      "with_end",
      [](const pipeline_value& x, epoch_end end) { return then(x, leat::with_end(x.value, end)); },
      "pipeline"_a, "end"_a, "The pipeline with another end rule.");
  m.def(
      "with_remote",
      [](const pipeline_value& x, const remote_argument& remote) {
        return then(x, leat::with_remote(x.value, remote.options()));
      },
      "pipeline"_a, "remote"_a,
      "The pipeline with these options for servers in all operators that have none of their own: "
      "see Loader.");
  m.def(
      "with_maps",
      [](const pipeline_value& x, const std::vector<const map_value*>& maps) {
        auto kept = x.kept;
        std::vector<map_stage> stages;
        for (const auto* stage : maps) {
          stages.push_back(stage->value);
          kept.add(stage->kept);
        }
        return pipeline_value{leat::with_maps(x.value, stages), std::move(kept)};
      },
      "pipeline"_a, "maps"_a,
      "The pipeline with other functions in its maps, by their names and parameters.");
  m.def(
      "shape_of", [](const pipeline_value& x) { return shape_of(operators_of(x.value)); },
      "pipeline"_a,
      "The operators' names without maps: \"zip(tar_shards.shuffle, count).take.batch\".");
}

} // namespace

void bind_pipeline(nb::module_& m) {
  nb::class_<pipeline_value> type{
      m, "Pipeline", nb::type_slots(garbage_slots<pipeline_value>), nb::is_weak_referenceable(),
      "A pipeline as a value: operators over sources. Nothing is read before a loader needs it."};
  bind_operators(type);
  bind_facts_of_pipelines(m, type);
  m.def("parse_pipeline", parse, "text"_a,
        "Reads the text form of a pipeline: what str(pipeline) gives.");
  m.def(
      "zip",
      [](const std::vector<const pipeline_value*>& inputs) {
        kept_objects kept;
        auto values = values_of(inputs, kept);
        return pipeline_value{leat::zip(std::move(values)), std::move(kept)};
      },
      "inputs"_a, "Sample p of all inputs as one sample, up to the end of the shortest input.");
  m.def(
      "concat",
      [](const std::vector<const pipeline_value*>& inputs) {
        kept_objects kept;
        auto values = values_of(inputs, kept);
        return pipeline_value{leat::concat(std::move(values)), std::move(kept)};
      },
      "inputs"_a, "The samples of the first input, then those of the next.");
  m.def(
      "mix",
      [](const std::vector<const pipeline_value*>& inputs, std::vector<double> weights,
         mix_rule rule, mix_stop stop, std::string cost, std::uint64_t seed,
         const weights_by_step& schedule, double temperature, std::uint64_t max_repeats,
         mix_schedule schedule_by) {
        kept_objects kept;
        auto values = values_of(inputs, kept);
        return pipeline_value{leat::mix(std::move(values), {.weights = std::move(weights),
                                                            .rule = rule,
                                                            .stop = stop,
                                                            .cost = std::move(cost),
                                                            .seed = seed,
                                                            .schedule = changes_of(schedule),
                                                            .temperature = temperature,
                                                            .max_repeats = max_repeats,
                                                            .schedule_by = schedule_by}),
                              std::move(kept)};
      },
      "inputs"_a, nb::kw_only(), "weights"_a = std::vector<double>{}, "rule"_a = mix_rule::deficit,
      "stop"_a = mix_stop::all, "cost"_a = "", "seed"_a = 0, "schedule"_a = weights_by_step{},
      "temperature"_a = 1.0, "max_repeats"_a = 0, "schedule_by"_a = mix_schedule::steps,
      "Samples of all inputs, in shares as their weights say, lane by lane.");
  m.def(
      "build_row_index",
      [](const pipeline_value& x) -> nb::object {
        const auto facts = without_gil([&] { return build_row_index(x.value); });
        if (!facts)
          return nb::none();
        return dict_with("bytes_read"_a = facts->bytes_read, "images"_a = facts->images,
                         "indexed"_a = facts->indexed, "image_bytes"_a = facts->image_bytes,
                         "index_bytes"_a = facts->index_bytes, "work_bytes"_a = facts->work_bytes,
                         "completed"_a = facts->completed, "not_stored"_a = facts->not_stored);
      },
      "pipeline"_a, nb::sig("def build_row_index(pipeline: Pipeline) -> dict[str, int] | None"),
      "Finds where the MCU rows of JPEGs begin, so that jobs decode only what a crop needs.");
  m.def(
      "put_indexes",
      [](const pipeline_value& x, const path_text& out) {
        const auto facts = without_gil([&] { return put_indexes(x.value, out); });
        return dict_with("manifest"_a = path_text{facts.manifest.data(), facts.manifest.size()},
                         "shards"_a = facts.shards, "records"_a = facts.records,
                         "manifest_bytes"_a = facts.manifest_bytes,
                         "index_bytes"_a = facts.index_bytes);
      },
      "pipeline"_a, "out"_a,
      nb::sig("def put_indexes(pipeline: Pipeline, out: str | os.PathLike[str]) -> dict[str, "
              "typing.Any]"),
      "Stores the indexes of tar shards in a folder, also of a bucket, and a manifest of all of "
      "them, which jobs name as index_dir.");
}

} // namespace leat::python
