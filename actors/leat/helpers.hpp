#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// Which processes may connect as helpers (`loader_options::workers_at`), and what they do.
struct helper_access {
  /// Directory with this process's `ca.pem`, `cert.pem` and `key.pem`, for the role rank; helpers
  /// have certificates of the same authority for the role worker. Empty: without TLS.
  std::string certificates = {};
  /// What helpers have to know; empty: nothing.
  std::string token = {};
  /// Without certificates, addresses other than loopback are refused unless this says that the
  /// network is private.
  bool insecure = false;
  /// What of a row travels to helpers; the finished row comes back, and batches are the same.
  /// "items": which row it is, for helpers that have the data; others make none. "records": also
  /// the records that it is made of, to all helpers. "auto": the former to those that have the
  /// data, the latter to others; and no rows whose lending costs this process more than half of
  /// what making them does, as measured. "none": helpers are not let in.
  std::string lend = "auto";
};

/// What helpers did for a loader, and do now.
struct helper_stats {
  /// That make rows now, and their threads.
  std::uint64_t helpers = 0;
  std::uint64_t cores = 0;
  /// Rows of batches, and samples that an operator looks at. A row that is dealt again counts
  /// again.
  std::uint64_t rows_lent = 0;
  /// Rows of batches that helpers have made.
  std::uint64_t rows_received = 0;
  /// Rows that others might make, since they were late, or their helper was lost, or declined them.
  std::uint64_t rows_dealt_again = 0;
  std::uint64_t rows_declined = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  /// Why rows are not lent for which helpers would have room: lending them costs this process more
  /// than half of what making them does. Empty if they are lent.
  std::string not_lent = {};
};

} // namespace leat
