#include <leat/own_loader.hpp>

#include "python/module/convert/bytes.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/loader.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

struct own_loader_value {
  own_loader<nb::object> of;
  kept_objects kept;
  passes loops = {};
};

own_loader_functions<nb::object> functions_of(std::string name, nb::handle begin_epoch,
                                              nb::handle next, nb::handle save, nb::handle load) {
  own_loader_functions<nb::object> result;
  result.name = std::move(name);
  result.begin_epoch = [begin_epoch](std::uint64_t epoch) { begin_epoch(epoch); };
  result.next = [next]() -> std::optional<nb::object> {
    nb::object found = next();
    return found.is_none() ? std::nullopt : std::optional{std::move(found)};
  };
  if (!save.is_none())
    result.save = [save] {
      const nb::object place = save();
      if (!PyBytes_Check(place.ptr()))
        throw nb::type_error(("save() gave a " + name_of_type(place) + "; needed: bytes").c_str());
      const auto bytes = nb::borrow<nb::bytes>(place);
      return std::string{bytes.c_str(), bytes.size()};
    };
  if (!load.is_none())
    result.load = [load](const std::string& place) { load(to_bytes(place)); };
  return result;
}

nb::object next_own_batch(own_loader_value& x) {
  auto found = x.of.next();
  x.loops.got(found.has_value());
  if (!found)
    return nb::none();
  return nb::module_::import_("leat.position")
      .attr("OwnBatch")(std::move(found->content), found->epoch, found->step, found->global_step,
                        found->end_of_epoch);
}

void bind_own_snapshots(nb::class_<own_loader_value>& type) {
  type.def(
          "position", [](const own_loader_value& x) { return position_of(x.of.position()); },
          nb::sig("def position(self) -> leat.position.Position"), "Where next() continues.")
      .def(
          "snapshot", [](const own_loader_value& x) { return to_bytes(x.of.snapshot()); },
          "\"Resume after the last batch\", as bytes.")
      .def(
          "save",
          [](const own_loader_value& x, const path_text& directory) { x.of.save(directory); },
          "directory"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Writes that snapshot as this rank's part.")
      .def(
          "restore",
          [](own_loader_value& x, const path_text& directory) {
            const auto found = x.of.restore(directory);
            return found ? position_of(*found) : nb::none();
          },
          "directory"_a,
          nb::sig("def restore(self, directory: str | os.PathLike[str]) -> leat.position.Position "
                  "| None"),
          "Resumes after the newest complete set; None if there is none.")
      .def(
          "restore_parts",
          [](own_loader_value& x, const std::vector<nb::bytes>& parts) {
            return position_of(x.of.restore_parts(parts_of(parts)));
          },
          "parts"_a,
          nb::sig("def restore_parts(self, parts: collections.abc.Sequence[bytes]) -> "
                  "leat.position.Position"),
          "Restores from the bytes of snapshot(): of this rank, or of all.")
      .def(
          "skip_first_batches",
          [](own_loader_value& x, std::uint64_t n) { x.of.skip_first_batches(n); }, "n"_a,
          "Leaves out the next n batches. Before the first next().")
      .def(
          "abandon_epoch", [](own_loader_value& x) { x.of.abandon_epoch(); },
          "Leaves out the rest of the epoch.");
}

} // namespace

void bind_own_loader(nb::module_& m) {
  const own_loader_options usual;
  nb::class_<own_loader_value> type{
      m, "OwnLoader", nb::type_slots(garbage_slots<own_loader_value>), nb::is_weak_referenceable(),
      "Gives a program's own loader snapshots that resume after any batch, batches that are "
      "skipped, and the end of an epoch marked on its last batch. Reads one batch ahead."};
  type.def(
          "__init__",
          [](own_loader_value* to, std::string name, nb::object begin_epoch, nb::object next,
             nb::object save, nb::object load, const std::optional<std::uint64_t>& rank,
             std::uint64_t world_size, std::uint64_t epochs, std::uint64_t keep) {
            kept_objects kept;
            const auto begins = kept.add(std::move(begin_epoch));
            const auto gives = kept.add(std::move(next));
            const auto saves = kept.add(std::move(save));
            const auto loads = kept.add(std::move(load));
            own_loader<nb::object> made{functions_of(std::move(name), begins, gives, saves, loads),
                                        {rank_among(rank, world_size), world_size, epochs, keep}};
            new (to) own_loader_value{std::move(made), std::move(kept)};
          },
          "name"_a, nb::kw_only(), "begin_epoch"_a, "next"_a, "save"_a = nb::none(),
          "load"_a = nb::none(), "rank"_a = nb::none(), "world_size"_a = usual.world_size,
          "epochs"_a = usual.epochs, "keep"_a = usual.keep,
          nb::sig("def __init__(self, name: str, *, begin_epoch: collections.abc.Callable[[int], "
                  "typing.Any], next: collections.abc.Callable[[], typing.Any], save: "
                  "collections.abc.Callable[[], bytes] | None = None, load: "
                  "collections.abc.Callable[[bytes], typing.Any] | None = None, rank: int | None = "
                  "None, world_size: int = 1, epochs: int = 1, keep: int = 3) -> None"),
          "`begin_epoch(epoch)` begins an epoch at its first batch; `next()` gives its next batch, "
          "or None after the last. `save()` and `load(place)`, both or none: the place after the "
          "last batch, as bytes; without them a restore runs through the epoch's earlier batches. "
          "`name`: \"photos@1\", recorded in snapshots.")
      .def("next", &next_own_batch, nb::sig("def next(self) -> leat.position.OwnBatch | None"),
           "The next batch; None after the last one.")
      .def(
          "__iter__",
          [](nb::handle_t<own_loader_value> x) {
            nb::cast<own_loader_value&>(x).loops.begin();
            return nb::borrow(x);
          },
          nb::sig("def __iter__(self) -> OwnLoader"))
      .def(
          "__next__",
          [](own_loader_value& x) {
            auto found = next_own_batch(x);
            if (found.is_none())
              throw nb::stop_iteration();
            return found;
          },
          nb::sig("def __next__(self) -> leat.position.OwnBatch"));
  bind_own_snapshots(type);
}

} // namespace leat::python
