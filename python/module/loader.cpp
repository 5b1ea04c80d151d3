#include "python/module/loader.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/testing.hpp>

#include "python/module/batch.hpp"
#include "python/module/convert/bytes.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/convert/remote.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <string>
#include <utility>
#include <variant>

namespace leat::python {

namespace {

constexpr const char* options_of_loaders =
    "`data`: a pipeline that ends with batch(rows).\n\n"
    "`rank`, `world_size`: this process among those that share each batch; one that is alone needs "
    "neither.\n"
    "`workers`: threads that read, decode and call functions; 0: the thread that calls next().\n"
    "`epochs`, `steps`: the job's length, counted from epoch 0, also after a restore: the shorter "
    "one. One loop goes through all of it.\n"
    "`prefetch`: batches made ahead of the one in use; 0: two, and more of small ones.\n"
    "`leases`: batches that the program may hold at one time; None: 64, or 8 with a device.\n"
    "`dispatch`: how rows are dealt to workers; the batches are the same.\n"
    "`bad_samples`: a bad sample ends the job (\"fail\"), another one takes its row "
    "(\"substitute\"), or the row is not valid (\"mask\"). `bad_sample_log`: a file with a line "
    "for each.\n"
    "`stuck_after`: a function that runs longer, in seconds, is an error at next(); None: never. "
    "`on_stuck`: is called with that error by another thread.\n"
    "`keep`: complete snapshot sets that save() keeps.\n"
    "`hash_pixels`: computes Batch.content_hashes().\n"
    "`device`: where fields are copied to, ahead of their use: \"cpu\" (nowhere), \"cuda\" or "
    "\"cuda:N\"; see Batch.on_device(). It takes the device's memory for `leases` + 2 batches. "
    "`device_fields`: which go there; empty: all but bytes.\n"
    "`decoder`: where JPEGs with a row index that go to a device are decoded: \"auto\" (there, if "
    "it can), \"cpu\" or \"device\". The pixels are the same; what is decoded on a device is not "
    "on the host. \"nvjpeg\": all JPEGs by NVIDIA's nvJPEG, whose pixels are others.\n"
    "`agree`: an all-gather of three integers, for several ranks whose epochs end where reading "
    "finds it.\n"
    "`cluster`: the other ranks, in its place: see Cluster.\n"
    "`workers_at`: \"host:port\" where helpers connect that make rows for this rank (leat worker "
    "--join, run_worker()); empty: none. `helpers`: which may, see HelperAccess.\n"
    "`feeds_at`: \"host:port\" where the pipeline's feeds connect (leat feed --join, Feed); empty: "
    "in a cluster somewhere, and feeds find it by the coordinator; else nowhere.\n"
    "`remote`: how servers are asked for data, by sources that have no such options of their own: "
    "endpoint, region, profile, anonymous, requester_pays, access_key, secret_key, session_token, "
    "token, "
    "bucket_in (\"automatic\", \"path\" or \"host\"), bytes_in_flight, cache (a directory), "
    "cache_bytes. What is left out is "
    "looked for in the environment.\n"
    "`trace`, `runtime`, `fault`: see Trace, Runtime, FaultDrill.";

using worker_number = std::variant<std::size_t, std::string>;

std::size_t number_of(const worker_number& x) {
  if (const auto* number = std::get_if<std::size_t>(&x))
    return *number;
  const auto& text = std::get<std::string>(x);
  if (text != "auto")
    refuse_argument("loader", "workers=\"" + text + "\"", "a number or \"auto\"");
  return automatic;
}

/// Wraps an all-gather of Python, which returns the agreements of all ranks.
std::function<std::vector<epoch_agreement>(const epoch_agreement&)> gather_of(nb::handle f) {
  return [f](const epoch_agreement& mine) {
    const gil_held held;
    try {
      const nb::object all = f(nb::make_tuple(mine.batches, mine.is_final, mine.has_failed));
      std::vector<epoch_agreement> result;
      for (const nb::handle x : all)
        result.push_back({nb::cast<std::int64_t>(x[0]), nb::cast<std::int64_t>(x[1]),
                          nb::cast<std::int64_t>(x[2])});
      return result;
    } catch (nb::python_error& problem) {
      if (!problem.matches(PyExc_Exception))
        throw_through(problem);
      throw error(errc::io, {.stage = "agree", .got = text_of(problem)});
    } catch (const nb::cast_error&) {
      throw_error(errc::io, "agree", "a value of a wrong type",
                  "for each rank what it gave: three integers");
    }
  };
}

std::function<void(const error&)> stuck_handler_of(nb::handle f) {
  return [f](const error& problem) {
    const gil_held held;
    try {
      f(exception_of(problem));
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable("on_stuck");
    }
  };
}

nb::object next_of(loader_value& x) {
  if (x.is_place_new)
    x.check_place();
  auto found = x.call([](loader& job) { return job.next(); });
  x.loops.got(static_cast<bool>(found));
  return found ? nb::cast(batch_value{std::move(found)}) : nb::none();
}

/// Python calls this before it takes a garbage cycle apart: workers may still call its functions.
void finalize(PyObject* x) {
  if (nb::inst_ready(x))
    nb::inst_ptr<loader_value>(x)->close_quietly();
}

PyType_Slot loader_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<loader_value>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear<loader_value>)},
    {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
    {0, nullptr},
};

void construct(loader_value* to, nb::handle_t<pipeline_value> data,
               const std::optional<std::uint64_t>& rank, std::uint64_t world_size,
               const worker_number& workers, std::uint64_t epochs,
               std::optional<std::uint64_t> steps, std::size_t prefetch,
               const std::optional<std::size_t>& leases, dispatch_policy dispatch,
               bad_sample_policy bad_samples, path_text bad_sample_log,
               const std::optional<time_or_seconds>& stuck_after, nb::object on_stuck,
               std::uint64_t keep, bool hash_pixels, std::string device,
               std::vector<std::string> device_fields, std::string decoder, nb::object agree,
               const std::optional<cluster>& others, std::string workers_at,
               const std::optional<helper_access>& helpers, std::string feeds_at,
               const remote_argument& remote, std::shared_ptr<trace> timeline,
               std::shared_ptr<runtime> in, std::optional<fault_drill> fault) {
  kept_objects kept;
  loader_options options;
  options.rank = others ? rank.value_or(0) : rank_among(rank, world_size);
  options.world_size = world_size;
  options.workers = number_of(workers);
  options.epochs = epochs;
  options.steps = steps.value_or(options.steps);
  options.prefetch = prefetch;
  options.device = std::move(device);
  options.device_fields = std::move(device_fields);
  options.decoder = std::move(decoder);
  options.leases = leases.value_or(options.device == "cpu" ? 64 : 8);
  options.dispatch = dispatch;
  options.bad_samples = bad_samples;
  options.bad_sample_log = std::move(bad_sample_log);
  options.stuck_after = stuck_after ? time_of(*stuck_after) : std::chrono::milliseconds{0};
  if (!on_stuck.is_none())
    options.on_stuck = stuck_handler_of(kept.add(std::move(on_stuck)));
  options.keep = keep;
  options.hash_pixels = hash_pixels;
  if (!agree.is_none())
    options.agree = gather_of(kept.add(std::move(agree)));
  options.cluster = others;
  options.workers_at = std::move(workers_at);
  options.helpers = helpers;
  options.feeds_at = std::move(feeds_at);
  options.remote = remote.options();
  options.trace = std::move(timeline);
  options.runtime = std::move(in);
  if (fault)
    options.fault = drill(std::move(*fault));
  new (to) loader_value(data, std::move(options), std::move(kept));
}

void bind_positions(nb::class_<loader_value>& type) {
  type.def(
          "restore",
          [](loader_value& x, const path_text& directory, std::vector<std::string> allow,
             bool allow_older) {
            const auto found = x.call([&](loader& job) {
              return job.restore(directory, {std::move(allow), allow_older});
            });
            return found ? position_of(*found) : nb::none();
          },
          "directory"_a, nb::kw_only(), "allow"_a = std::vector<std::string>{},
          "allow_older"_a = false,
          nb::sig("def restore(self, directory: str | os.PathLike[str], *, allow: "
                  "collections.abc.Sequence[str] = (), "
                  "allow_older: bool = False) -> leat.position.Position | None"),
          "Resumes after the newest complete snapshot set of a directory, or after the one that is "
          "the file of a whole job; None if there is none.")
      .def(
          "restore_parts",
          [](loader_value& x, const std::vector<nb::bytes>& parts, std::vector<std::string> allow) {
            const auto bytes = parts_of(parts);
            return position_of(x.call([&](loader& job) {
              return job.restore_parts(bytes, {std::move(allow), false});
            }));
          },
          "parts"_a, nb::kw_only(), "allow"_a = std::vector<std::string>{},
          nb::sig("def restore_parts(self, parts: collections.abc.Sequence[bytes], *, allow: "
                  "collections.abc.Sequence[str] = ()) -> leat.position.Position"),
          "Restores from the bytes of snapshot(): of all ranks, or of one.")
      .def("seek", called(&loader::seek), "epoch"_a, "step"_a,
           "Begins at a batch as if all before it had been handed over.")
      .def("skip_first_batches", called(&loader::skip_first_batches), "n"_a,
           "Leaves out the next n batches. Before the first next().")
      .def(
          "position",
          [](loader_value& x) {
            return position_of(x.call([](loader& job) { return job.position(); }));
          },
          nb::sig("def position(self) -> leat.position.Position"),
          "Where the loader stands: the next batch.")
      .def("abandon_epoch", called(&loader::abandon_epoch), "Leaves out the rest of the epoch.")
      .def("rewind", called(&loader::rewind),
           "Starts the job over: the next batch is the first of epoch 0.");
}

void bind_snapshots(nb::class_<loader_value>& type) {
  type.def(
          "save",
          [](loader_value& x, const path_text& directory, const std::optional<batch_value>& after) {
            x.call([&](loader& job) {
              after ? job.save(directory, after->get()) : job.save(directory);
            });
          },
          "directory"_a, "after"_a = nb::none(),
          "Writes this rank's part of \"resume after this batch\" in the background; without a "
          "batch, after the last one that next() gave.")
      .def("finish", called(&loader::finish),
           "After the last batch: waits until all ranks of the cluster have had theirs.")
      .def("wait_saved", called(&loader::wait_saved),
           "Waits for saves in progress and raises their error.")
      .def(
          "snapshot",
          [](loader_value& x, const std::optional<batch_value>& after) {
            return to_bytes(x.call(
                [&](loader& job) { return after ? job.snapshot(after->get()) : job.snapshot(); }));
          },
          "after"_a = nb::none(),
          "This rank's part of \"resume from here\", or from after a batch of this loader, as "
          "bytes.")
      .def(
          "keep",
          [](loader_value& x, const std::vector<nb::bytes>& parts) {
            const auto bytes = parts_of(parts);
            x.call([&](loader& job) { job.keep(bytes); });
          },
          "parts"_a,
          "For snapshots that the program keeps itself, of sources that exist once: their journals "
          "hold what the snapshot needs until it is let go.")
      .def(
          "let_go",
          [](loader_value& x, const std::vector<nb::bytes>& parts) {
            const auto bytes = parts_of(parts);
            x.call([&](loader& job) { job.let_go(bytes); });
          },
          "parts"_a, "The checkpoint is gone: journals forget what no other needs.");
}

} // namespace

nb::object position_of(const resume_point& x) {
  return nb::module_::import_("leat.position")
      .attr("Position")(x.epoch, x.step, x.global_step, x.digest);
}

void bind_loader(nb::module_& m) {
  prepare_forks();
  nb::class_<loader_value> type{
      m, "Loader", nb::type_slots(loader_slots), nb::is_weak_referenceable(),
      "Feeds one rank of a training job. One thread at a time calls it; batches are "
      "for any thread."};
  const loader_options usual;
  type.def(
          "__init__", &construct, "data"_a, nb::kw_only(), "rank"_a = nb::none(),
          "world_size"_a = usual.world_size, "workers"_a = "auto", "epochs"_a = usual.epochs,
          "steps"_a = nb::none(), "prefetch"_a = usual.prefetch, "leases"_a = nb::none(),
          "dispatch"_a = usual.dispatch, "bad_samples"_a = usual.bad_samples,
          "bad_sample_log"_a = "", "stuck_after"_a = 300.0, "on_stuck"_a = nb::none(),
          "keep"_a = usual.keep, "hash_pixels"_a = false, "device"_a = usual.device,
          "device_fields"_a = std::vector<std::string>{}, "decoder"_a = usual.decoder,
          "agree"_a = nb::none(), "cluster"_a = nb::none(), "workers_at"_a = "",
          "helpers"_a = nb::none(), "feeds_at"_a = "", "remote"_a = nb::none(),
          "trace"_a = nb::none(), "runtime"_a = nb::none(), "fault"_a = nb::none(),
          nb::sig(
              "def __init__(self, data: Pipeline, *, rank: int | None = None, world_size: int = "
              "1, workers: int | typing.Literal['auto'] = 'auto', epochs: int = 1, steps: int | "
              "None = None, prefetch: int = 0, leases: int | None = None, dispatch: "
              "typing.Literal['on_demand', 'round_robin', 'by_lane'] = 'on_demand', bad_samples: "
              "typing.Literal['fail', 'substitute', 'mask'] = 'fail', bad_sample_log: str | "
              "os.PathLike[str] = '', stuck_after: float | datetime.timedelta | None = 300.0, "
              "on_stuck: collections.abc.Callable[[leat.errors.Error], typing.Any] | None = None, "
              "keep: int = 3, hash_pixels: bool = False, device: str = 'cpu', device_fields: "
              "collections.abc.Sequence[str] = (), decoder: typing.Literal['auto', 'cpu', "
              "'device', 'nvjpeg'] = 'auto', agree: "
              "collections.abc.Callable[[tuple[int, int, int]], "
              "collections.abc.Sequence[tuple[int, int, int]]] | None = None, cluster: Cluster | "
              "None = None, workers_at: str = '', helpers: HelperAccess | None = None, feeds_at: "
              "str = "
              "'', remote: "
              "collections.abc.Mapping[str, typing.Any] | None = None, trace: Trace | None = None, "
              "runtime: Runtime | None = None, fault: "
              "FaultDrill | None = None) -> None"),
          options_of_loaders)
      .def("next", &next_of, nb::sig("def next(self) -> Batch | None"),
           "The next batch; None after the last one of the job.")
      .def(
          "__iter__",
          [](nb::handle_t<loader_value> x) {
            auto& of = nb::cast<loader_value&>(x);
            of.check_place();
            of.loops.begin();
            return nb::borrow(x);
          },
          nb::sig("def __iter__(self) -> Loader"))
      .def(
          "__next__",
          [](loader_value& x) {
            auto found = next_of(x);
            if (found.is_none())
              throw nb::stop_iteration();
            return found;
          },
          nb::sig("def __next__(self) -> Batch"))
      .def("batches_per_epoch", called(&loader::batches_per_epoch),
           "Steps of one epoch; None if they are not known in advance.")
      .def(
          "resize_workers",
          [](loader_value& x, const worker_number& workers) {
            const auto n = number_of(workers);
            x.call([&](loader& job) { job.resize_workers(n); });
          },
          "workers"_a, "Adds or removes workers, also in the middle of an epoch.")
      .def(
          "stats", [](loader_value& x) { return leat::python::dict_of(x.get().stats()); },
          nb::sig("def stats(self) -> dict[str, typing.Any]"),
          "What the loader did so far; times in seconds. Any thread. \"remote\" has what servers "
          "were asked for (docs/remote.md), \"feeds\" what each feed gave, where it is, and how "
          "far this rank has come (docs/operators/feed.md).")
      .def(
          "interrupt", [](loader_value& x) { x.get().interrupt(); },
          "Ends a next() that waits, and all later ones. Any thread.")
      .def("data_digest", called(&loader::data_digest),
           "Digest of the data that the pipeline reads.")
      .def("close", &loader_value::close,
           "Ends the loader and waits for its threads. What a signal's handler raises ends the "
           "wait; the loader then ends by itself.")
      .def(
          "__enter__", [](nb::object x) { return x; }, nb::sig("def __enter__(self) -> Loader"))
      .def(
          "__exit__", [](loader_value& x, nb::args) { x.close(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def(
          "__reduce__",
          [](loader_value&) {
            refuse_argument("loader", "a loader to be pickled",
                            "its pipeline, from which another process makes a loader of its own");
          },
          nb::sig("def __reduce__(self) -> typing.Never"))
      .def("__len__", &loader_value::num_batches)
      .def("__bool__", [](const loader_value&) { return true; })
      .def("__repr__", [](const loader_value& x) { return as_message(x.repr()); });
  bind_positions(type);
  bind_place_in_cluster(type);
  bind_changes_of_order(type);
  bind_snapshots(type);
}

} // namespace leat::python
