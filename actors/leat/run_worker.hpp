#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

/// Lets this program be the child process of its own jobs, for maps with `map_options::isolate`. To
/// be called first in `main`, with its arguments: in a child it makes samples until its job ends,
/// and does not return; otherwise it returns at once.
///
/// `maps`: the functions of the program that may be isolated. They are registered, so that a child
/// finds them by their names, and so that texts of pipelines may name them; those that were
/// registered before count, too (`register_map`). leat's own maps may be isolated in any program:
/// where this function is not called, their children are those of the installed command `leat`.
///
///     int main(int argc, char** argv) {
///       leat::run_worker(argc, argv, {{.name = "parse@1", .make = [] { return parse; }}});
///
/// Throws as `register_map`, `errc::invalid_argument`.
LEAT_API void run_worker(int argc, char** argv, std::vector<map_stage> maps = {});

/// How a process helps ranks to make their rows.
struct worker_options {
  /// "host:port" where a loader listens for helpers (its `loader_options::workers_at`), or the
  /// coordinator of a job of several processes, all of whose ranks that listen are helped.
  std::string join = {};
  /// Threads that make rows; 0: one for each core that this process may use.
  std::size_t cores = 0;
  /// The most memory that this process may have, in bytes: what does not fit is declined, and made
  /// elsewhere. 0: no limit.
  std::uint64_t memory = 0;
  /// How much this process gives way to others: 0 to 19, as nice(1) has it.
  int nice = 0;
  /// Folders whose files may be read, by absolute paths. Jobs whose data lies below them, under the
  /// names that the rank knows and with all links followed, have it read here; other data is sent
  /// row by row. Models and tokenizers of leat's maps have to lie below them, too. What functions
  /// of the program open by the parameters that a rank gives them is up to these.
  std::vector<std::string> data = {};
  /// Directory with the certificate and key of this process, in the role worker; empty: without
  /// TLS.
  std::string certificates = {};
  /// The job's secret, the same everywhere; empty: none.
  std::string token = {};
  /// Ends the call soon.
  std::stop_token stop = {};
  /// Told whom it helps, and what goes wrong; called in threads of the worker. What it throws ends
  /// the call. Empty: notices.
  std::function<void(const std::string&)> log = {};
};

/// Makes rows for the ranks that it finds, one job after the other, until `options.stop` is
/// requested. It may end, be killed or be stopped at any moment: others make its rows then, and no
/// batch differs. Pipelines are made of leat's functions and of those that this program has
/// registered (`register_map` and its like, `run_worker`), which have to be the rank's. Throws
/// `errc::invalid_argument` for an option that is wrong, and `errc::no_resources`.
LEAT_API void run_worker(const worker_options& options);

} // namespace leat
