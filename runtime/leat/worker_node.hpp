#pragma once

#include <leat/export.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

/// How a process helps ranks to make their rows.
struct worker_options {
  /// "host:port" where a loader listens for helpers: its `loader_options::workers_at`.
  std::string join = {};
  /// Threads that make rows; 0: one for each core that this process may use.
  std::size_t cores = 0;
  /// The most memory that this process may have, in bytes: what does not fit is declined, and made
  /// elsewhere. 0: no limit.
  std::uint64_t memory = 0;
  /// How much this process gives way to others: 0 to 19, as nice(1) has it.
  int nice = 0;
  /// Folders whose files may be read, by absolute paths. Jobs whose data lies below them, under the
  /// names that the rank knows, have it read here; other data is sent row by row.
  std::vector<std::string> data = {};
  /// Directory with the certificate and key of this process, in the role worker; empty: without
  /// TLS.
  std::string certs = {};
  /// The job's secret, the same everywhere; empty: none.
  std::string token = {};
  /// Ends the call soon.
  std::stop_token stop = {};
  /// Told whom it helps, and what goes wrong; called in threads of the worker. Empty: notices.
  std::function<void(const std::string&)> log = {};
};

/// Makes rows for the ranks that it finds, one job after the other, until `options.stop` is
/// requested. It may end, be killed or be stopped at any moment: others make its rows then, and no
/// batch differs. Pipelines are made of leat's functions and of those that this program has
/// registered (`register_map` and its like, `run_worker`), which have to be the rank's. Throws
/// `errc::invalid_argument` for an option that is wrong, and `errc::no_resources`.
LEAT_API void help_ranks(const worker_options& options);

} // namespace leat
