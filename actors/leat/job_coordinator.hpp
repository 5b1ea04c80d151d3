#pragma once

#include <leat/export.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// For texts that are empty, and values that are not set, the environment counts.
struct coordinator_options {
  /// Directory that outlives the coordinator, on a file system that all hosts share, if the next
  /// one may run on another; it belongs to one job. Needed. LEAT_CLUSTER_STATE
  std::string state = {};
  /// Where to listen, and what ranks connect to: a name or address of this machine, with a port; 0:
  /// the system chooses one. LEAT_CLUSTER_ADDRESS. Without it 127.0.0.1, or, with
  /// certificates or if `insecure`, the first address that other machines can use, with a port that
  /// the system chooses.
  std::string bind = {};
  /// Directory with `ca.pem`, `cert.pem` and `key.pem`, as `leat certs issue` writes them for the
  /// role coordinator: ranks and observers have to show theirs, of the same authority. Other
  /// machines may connect. LEAT_CLUSTER_CERTS
  std::string certificates = {};
  /// Other machines may connect without certificates, over a network that is private: nothing is
  /// encrypted.
  /// LEAT_CLUSTER_INSECURE
  std::optional<bool> insecure = {};
  /// The job's secret: a process that does not know it gets no answer. LEAT_CLUSTER_TOKEN
  std::string token = {};
  /// The job's id, which tells it from the one that the directory was used for before.
  /// LEAT_CLUSTER_JOB. Without it, the directory's own, or "job".
  std::string job = {};
  /// Snapshots of the whole job that stay; at least 1.
  std::uint64_t keep = 3;
  /// A rank that has been silent for so long is lost; 3 s to a day.
  std::chrono::seconds lost_after{10};
  /// A rank continues for this long without a coordinator, and its place is free this long after it
  /// was last heard, unless it is known to have ended; 5 s to a day.
  std::chrono::seconds lease{30};
  /// Where lost ranks come back alone: how long the others wait for them; 1 s to 7 days.
  std::chrono::seconds rejoin_within{600};
  /// A job without a fixed number of ranks begins when nobody has joined for so long; up to a day.
  std::chrono::seconds last_call{10};
  /// Gets one line for each thing that happens: a coordinator begins, a term begins or ends, and
  /// why. Called in any thread. Empty: nobody reads it.
  std::function<void(const std::string&)> log = {};
};

/// The coordinator of a job of several processes: gives out ranks, and says where the job continues
/// when one is lost. It has no data, and there is one for a job; if it ends, another one may take
/// over from its state directory.
class LEAT_API job_coordinator {
public:
  /// Listens. Throws `errc::invalid_argument` for options that cannot be, also for a directory of
  /// another job that is not over; `errc::io` if the port is not free or the directory cannot be
  /// written. A coordinator that is running then continues.
  explicit job_coordinator(const coordinator_options& options);
  /// Closes the port. What it has told ranks stays in the state directory.
  ~job_coordinator();
  job_coordinator(const job_coordinator&) = delete;
  job_coordinator& operator=(const job_coordinator&) = delete;

  /// What LEAT_CLUSTER_ADDRESS has to be in the ranks: "host:port".
  std::string address() const;
  /// The token of `options`, or of the environment, is not empty.
  bool has_token() const noexcept;

  /// Waits until the job has ended for all ranks: true; or until stop() was called: false. Throws
  /// `errc::shut_down` if another coordinator has taken over the state directory.
  bool wait();
  /// Ends the wait. Any thread.
  void stop() noexcept;

private:
  class inside;

  std::unique_ptr<inside> inside_;
};

} // namespace leat
