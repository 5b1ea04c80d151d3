#pragma once

#include <leat/export.hpp>
#include <leat/sample.hpp>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace leat {

/// How a process reads a source that exists once, and serves its records to all ranks of a job,
/// whose pipelines have `feed(name)`.
struct feed_options {
  /// Of the source, as in `feed(name)`: 1 to 256 bytes.
  std::string name = {};
  /// "host:port" of the job's coordinator, all of whose ranks are served, or of a loader alone (its
  /// `loader_options::feeds_at`). Both may come later, and come back.
  std::string join = {};
  /// The source: sets the fields of an empty sample and returns true, or returns false at its end.
  /// It may block. One thread calls it, with the first sample once a rank wants it. Empty: the
  /// records of `queue`; without one the lines of `files`, or of standard input if there are none,
  /// as field "text".
  std::function<bool(sample&)> next = {};
  /// Files whose lines are the records, one after the other. A feed with a journal that begins
  /// again continues after the last line that the journal has.
  std::vector<std::string> files = {};
  /// The address of a queue, whose records are acknowledged once no rank needs them any more, here
  /// or after a restore of a snapshot that is kept: "redis://HOST/STREAM", "nats://HOST/STREAM", by
  /// TLS "rediss://HOST/STREAM" and "tls://HOST/STREAM", "tcp://HOST:PORT" (docs/queues.md).
  std::string queue = {};
  /// A directory of this feed alone, where each record is before any rank sees it, so that
  /// snapshots can be taken and resumed, and this process may be killed and begun again. Empty:
  /// records are in memory, snapshots are refused, and the job fails if this process ends before
  /// it.
  std::string journal = {};
  /// The journal outlives power cuts, not only processes: each record waits for the disk.
  bool sync = false;
  /// Without a journal: bytes of records that are kept for ranks that have not used them. The
  /// source is not read any further while there are more. At least 16 MiB.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// Directory with the certificate and key of this process, in the role feed; empty: without TLS.
  std::string certificates = {};
  /// The job's secret, the same everywhere; empty: none.
  std::string token = {};
  /// Ends the call soon; but a call of `next` has to return first.
  std::stop_token stop = {};
  /// Told whom it serves, what goes wrong, and at the end what records have cost; called in threads
  /// of the feed. Empty: notices.
  std::function<void(const std::string&)> log = {};
};

/// Reads the source as far as ranks want its records, and serves them, until `options.stop` is
/// requested, or the source has ended and all ranks have had all records. With a journal it may be
/// killed at any moment and begun again: ranks wait for it, and no batch differs. Without one, the
/// job fails then on every rank. A second process that serves the same name with other records is
/// refused. A record has at most 15 MiB.
///
/// Throws `errc::invalid_argument` for an option that is wrong, `errc::no_resources`, what a
/// journal throws, and the failure of the source, of which all ranks have heard then.
LEAT_API void run_feed(const feed_options& options);

} // namespace leat
