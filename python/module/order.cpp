#include <leat/order.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/loader.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

/// A preview with the functions that it calls.
struct preview {
  order_preview value;
  kept_objects kept;
};

} // namespace

void bind_order(nb::module_& m) {
  nb::class_<epoch_facts>(m, "EpochFacts", "How the samples of a pipeline become batches.")
      .def_ro("batch_rows", &epoch_facts::batch_rows, "Rows of the global batch.")
      .def_ro("lanes", &epoch_facts::lanes, "Lanes; they divide batch_rows.")
      .def_ro("end", &epoch_facts::end, "The end rule: never automatic.")
      .def_ro("is_indexed", &epoch_facts::is_indexed,
              "The order is a formula, without state; else iterators find it, lane by lane.")
      .def_ro("samples", &epoch_facts::samples,
              "Samples of an epoch, also those that the end rule leaves out; None: not known "
              "beforehand.")
      .def_ro("batches", &epoch_facts::batches,
              "Global batches of an epoch; None: not known beforehand, or endless.")
      .def_prop_ro("is_endless", &epoch_facts::is_endless, "There is one epoch, without end.")
      .def_prop_ro("needs_agreement", &epoch_facts::needs_agreement,
                   "Several ranks have to agree on the end of an epoch: see Loader's `agree`.")
      .def("world_sizes", &epoch_facts::world_sizes,
           "World sizes that a job may have, rising; empty: any.");
  m.def(
      "epoch_of",
      [](const pipeline_value& x) { return without_gil([&] { return epoch_of(x.value); }); },
      "pipeline"_a, "Opens the data, and reads no sample.");
  nb::class_<due_batch>(m, "DueBatch", "A global batch that is due, over all ranks.")
      .def_ro("epoch", &due_batch::epoch, "Its epoch.")
      .def_ro("step", &due_batch::step, "Its number in the epoch.")
      .def_ro("positions", &due_batch::positions,
              "Position of each row in its epoch, rising; that at p is of rank p mod world size.")
      .def_ro("ids", &due_batch::ids, "Id of each row's sample.")
      .def_ro("digest", &due_batch::digest, "What the digests of all ranks' batches add up to.");
  nb::class_<preview>(
      m, "OrderPreview", nb::type_slots(garbage_slots<preview>),
      "What loaders of a pipeline hand over in an epoch where all samples are good, "
      "found out without making any.")
      .def(
          "__init__",
          [](preview* to, nb::handle_t<pipeline_value> data, std::uint64_t epoch,
             std::uint64_t step, const weights_by_step& weights, bad_sample_policy bad_samples) {
            const auto& of = nb::cast<pipeline_value&>(data);
            const auto value = of.value;
            auto made = without_gil([&] {
              return order_preview{value,
                                   preview_options{epoch, step, changes_of(weights), bad_samples}};
            });
            new (to) preview{std::move(made), of.kept};
          },
          "pipeline"_a, nb::kw_only(), "epoch"_a = 0, "step"_a = 0, "weights"_a = weights_by_step{},
          "bad_samples"_a = bad_sample_policy::fail,
          nb::sig("def __init__(self, pipeline: Pipeline, *, epoch: int = 0, step: int = 0, "
                  "weights: collections.abc.Mapping[int, collections.abc.Sequence[float]] = {}, "
                  "bad_samples: typing.Literal['fail', 'substitute', 'mask'] = 'fail') -> None"),
          "Begins at batch `step` of `epoch`. `weights`: changes of the weights of the pipeline's "
          "mix, by the steps from which they hold. `bad_samples`: the job's.")
      .def(
          "next", [](preview& x) { return without_gil([&] { return x.value.next(); }); },
          "The next batch; None after the epoch's last one.")
      .def_prop_ro(
          "epoch", [](const preview& x) { return x.value.epoch(); },
          "How the samples become batches: an EpochFacts.")
      .def(
          "__iter__", [](nb::object x) { return x; }, nb::sig("def __iter__(self) -> OrderPreview"))
      .def("__next__", [](preview& x) {
        auto found = without_gil([&] { return x.value.next(); });
        if (!found)
          throw nb::stop_iteration();
        return std::move(*found);
      });
  m.def("row_digest", &row_digest, "epoch"_a, "position"_a, "id"_a,
        "Digest of one delivered row: see docs/digest.md.");
}

void bind_changes_of_order(nb::class_<loader_value>& type) {
  type.def("leave_out_steps", called(&loader::leave_out_steps), "first"_a, "last"_a,
           "Leaves out steps of the job, by Batch.global_step.")
      .def("set_weights", called(&loader::set_weights), "weights"_a, nb::kw_only(),
           "from_step"_a = nb::none(),
           "Changes the weights of the pipeline's mix from a step on, by Batch.global_step, alike "
           "on "
           "all ranks. Only a job of one rank may leave the step unsaid: it is then the next one.");
}

} // namespace leat::python
