#include <leat/loader.hpp>
#include <leat/run_feed.hpp>
#include <leat/run_worker.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

/// Runs in threads of leat until it is told to stop; this thread handles signals.
template <class Run, class Options>
void run_until_signal(Run run, Options options) {
  std::stop_source stop;
  options.stop = stop.get_token();
  signal_watch signals;
  const caller_mark marked;
  {
    const nb::gil_scoped_release released;
    auto end = std::async(std::launch::async, [&] { run(options); });
    while (end.wait_for(between_looks) != std::future_status::ready)
      if (!signals.look() || callers_end())
        stop.request_stop();
    end.get();
  }
  signals.check();
}

/// A function of Python that is told a line.
std::function<void(const std::string&)> teller_of(nb::handle f) {
  return [f](const std::string& line) {
    const gil_held held;
    try {
      f(line);
    } catch (nb::python_error& raised) {
      raised.discard_as_unraisable("log");
    }
  };
}

void run_worker_of(std::string join, std::size_t cores, std::uint64_t memory, int nice,
                   const std::vector<path_text>& data, path_text certificates, std::string token,
                   const nb::object& log) {
  run_until_signal([](const worker_options& x) { leat::run_worker(x); },
                   worker_options{.join = std::move(join),
                                  .cores = cores,
                                  .memory = memory,
                                  .nice = nice,
                                  .data = {data.begin(), data.end()},
                                  .certificates = std::move(certificates),
                                  .token = std::move(token),
                                  .log = log.is_none() ? std::function<void(const std::string&)>{}
                                                       : teller_of(log)});
}

/// Ends a feed that another thread runs.
struct feed_stop {
  std::stop_source source;
};

feed_options feed_of(std::string name, const nb::object& next, std::string join,
                     const std::vector<path_text>& files, std::string queue, path_text journal,
                     bool sync, std::uint64_t memory, path_text certificates, std::string token,
                     const nb::object& log) {
  return {.name = std::move(name),
          .join = std::move(join),
          .next = next.is_none() ? std::function<bool(sample&)>{} : once_reader_of(next),
          .files = {files.begin(), files.end()},
          .queue = std::move(queue),
          .journal = std::move(journal),
          .sync = sync,
          .memory = memory,
          .certificates = std::move(certificates),
          .token = std::move(token),
          .log = log.is_none() ? std::function<void(const std::string&)>{} : teller_of(log)};
}

void run_feed_of(std::string name, const nb::object& next, std::string join,
                 const std::vector<path_text>& files, std::string queue, path_text journal,
                 bool sync, std::uint64_t memory, path_text certificates, std::string token,
                 const nb::object& log) {
  run_until_signal([](const feed_options& x) { leat::run_feed(x); },
                   feed_of(std::move(name), next, std::move(join), files, std::move(queue),
                           std::move(journal), sync, memory, std::move(certificates),
                           std::move(token), log));
}

/// In the calling thread, which handles no signals.
void run_feed_until(const feed_stop& stop, std::string name, const nb::object& next,
                    std::string join, const std::vector<path_text>& files, std::string queue,
                    path_text journal, bool sync, std::uint64_t memory, path_text certificates,
                    std::string token, const nb::object& log) {
  auto options =
      feed_of(std::move(name), next, std::move(join), files, std::move(queue), std::move(journal),
              sync, memory, std::move(certificates), std::move(token), log);
  options.stop = stop.source.get_token();
  const nb::gil_scoped_release released;
  leat::run_feed(options);
}

void bind_feeds(nb::module_& m) {
  m.def("run_feed", &run_feed_of, "name"_a, "next"_a = nb::none(), nb::kw_only(), "join"_a,
        "files"_a = std::vector<path_text>{}, "queue"_a = "", "journal"_a = "", "sync"_a = false,
        "memory"_a = feed_options{}.memory, "certificates"_a = "", "token"_a = "",
        "log"_a = nb::none(),
        nb::sig("def run_feed(name: str, next: collections.abc.Callable[[Sample], typing.Any] | "
                "None = None, *, join: str, files: collections.abc.Sequence[str | "
                "os.PathLike[str]] = (), queue: str = '', journal: str | os.PathLike[str] = '', "
                "sync: bool = False, "
                "memory: int = 268435456, certificates: str | os.PathLike[str] = '', token: str = "
                "'', log: collections.abc.Callable[[str], typing.Any] | None = None) -> None"),
        "Reads a source that exists once, and serves its records to all ranks of a job whose "
        "pipelines have feed(name), until all have had all of them, or a signal's handler raises "
        "something. `next(sample)` sets the fields of a record and returns True, or False at the "
        "end; without it the records are those of `queue`, an address such as "
        "\"redis://HOST/STREAM\" (docs/queues.md), or the lines of `files`, or of standard input. "
        "`join`: "
        "\"host:port\" of the job's coordinator, or of a loader's feeds_at. `journal`: a directory "
        "in which records outlive this process; `sync`: also power cuts; without one, `memory` "
        "bytes of records are kept for ranks. `log`: told whom it serves. Feed does so in a thread "
        "of its own.");
  nb::class_<feed_stop>(m, "_FeedStop").def(nb::init<>()).def("set", [](feed_stop& x) {
    x.source.request_stop();
  });
  m.def("_run_feed_until", &run_feed_until, "stop"_a, "name"_a, "next"_a.none(), "join"_a,
        "files"_a, "queue"_a, "journal"_a, "sync"_a, "memory"_a, "certificates"_a, "token"_a,
        "log"_a.none());
}

} // namespace

void bind_helpers(nb::module_& m) {
  bind_feeds(m);
  nb::class_<helper_access>(m, "HelperAccess", "Which processes may help a loader with its rows.")
      .def(
          "__init__",
          [](helper_access* to, path_text certificates, std::string token, bool insecure,
             std::string lend) {
            new (to)
                helper_access{std::move(certificates), std::move(token), insecure, std::move(lend)};
          },
          nb::kw_only(), "certificates"_a = "", "token"_a = "", "insecure"_a = false,
          "lend"_a = "auto",
          nb::sig("def __init__(self, *, certificates: str | os.PathLike[str] = '', token: str = "
                  "'', insecure: bool = False, lend: str = 'auto') -> None"),
          "Each argument is an attribute of the same name.")
      .def_prop_rw(
          "certificates", [](const helper_access& x) { return x.certificates; },
          [](helper_access& x, path_text value) { x.certificates = std::move(value); }, "value"_a,
          "Directory with certificate and key of this process, for the role rank.")
      .def_rw("token", &helper_access::token, "value"_a, "What helpers have to know.")
      .def_rw("insecure", &helper_access::insecure, "value"_a,
              "The network is private: without certificates nothing is encrypted.")
      .def_rw("lend", &helper_access::lend, "value"_a,
              "What of a row travels to helpers: \"items\", which row it is, for those that have "
              "the data; \"records\", also its records; \"auto\": whichever a helper needs, and no "
              "rows whose lending costs this process more than half of what making them does; "
              "\"none\": helpers are not let in.");
  m.def("run_worker", &run_worker_of, "join"_a, nb::kw_only(), "cores"_a = 0, "memory"_a = 0,
        "nice"_a = 0, "data"_a = std::vector<path_text>{}, "certificates"_a = "", "token"_a = "",
        "log"_a = nb::none(),
        nb::sig("def run_worker(join: str, *, cores: int = 0, memory: int = 0, nice: int = 0, "
                "data: collections.abc.Sequence[str | os.PathLike[str]] = (), certificates: str | "
                "os.PathLike[str] = '', token: str = '', log: "
                "collections.abc.Callable[[str], typing.Any] | None = None) -> None"),
        "Makes rows for a loader that listens at `join` (its workers_at), until a signal's handler "
        "raises something, as ctrl-C does. Functions of pipelines have to be registered here as in "
        "the loader's process (register_map). `cores`: threads, 0: the process's; `memory`: limit "
        "in bytes, 0: none; `data`: folders whose files may be read; `log`: told whom it helps.");
}

} // namespace leat::python
