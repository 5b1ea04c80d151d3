#pragma once

#include <leat/cluster_report.hpp>
#include <leat/export.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace leat {

struct observer_options {
  /// "host:port" of the coordinator. Empty: LEAT_CLUSTER_ADDRESS
  std::string address = {};
  /// The job's secret. Empty: LEAT_CLUSTER_TOKEN
  std::string token = {};
  /// Directory with `ca.pem`, `cert.pem` and `key.pem`, as `leat certs issue` writes them for the
  /// role observer, where the coordinator asks for certificates. Empty: LEAT_CLUSTER_CERTS
  std::string certificates = {};
  /// For each of: finding out whether somebody listens there, connecting, and asking; 1 s to an
  /// hour.
  std::chrono::seconds limit{10};
};

/// Looks at a job of several processes from outside, as often as it is asked to: it is no rank, and
/// changes nothing. One thread.
class LEAT_API cluster_observer {
public:
  /// Throws `errc::invalid_argument`.
  explicit cluster_observer(const observer_options& options = {});
  ~cluster_observer();
  cluster_observer(const cluster_observer&) = delete;
  cluster_observer& operator=(const cluster_observer&) = delete;

  /// Asks the coordinator, and connects to it first where there is no connection. Throws `errc::io`
  /// with what was tried if there is no answer within the limit, and `errc::mismatch` if the
  /// coordinator does not take the token. It may be called again after either.
  cluster_report look();
  /// Waits for so long, or until the connection is lost.
  void wait(std::chrono::nanoseconds time);

private:
  class inside;

  std::unique_ptr<inside> inside_;
};

} // namespace leat
