#pragma once

#include <leat/export.hpp>

#include <memory>
#include <string>

namespace leat {

class batch;
class loader;

struct run_log_options {
  /// Recorded in the log: the program that wrote it.
  std::string program = "trainer";
  /// The file gets the batches of all ranks, from a process that runs them all.
  bool all_ranks = false;
};

/// What a job handed over, one JSON line per batch: the log of `leat run --log`, which `leat
/// verify` checks against the output of `leat order` (docs/command.md). Each process has its own
/// file; every start of a job appends to it.
class LEAT_API run_log {
public:
  /// Opens or makes the file, removes a torn last line, and begins an attempt where the loader
  /// stands: after its restore(), before its first next(). Throws `errc::io`.
  run_log(const std::string& file, const loader& of, const run_log_options& options = {});
  ~run_log();
  run_log(run_log&&) noexcept;
  run_log& operator=(run_log&&) noexcept;

  /// Appends a batch, with hashes of its pixels if the loader makes them
  /// (`loader_options::hash_pixels`), in one write, so that SIGKILL tears the last line at most.
  /// When it returns, the line outlives the process: call it before the step, and before a snapshot
  /// after it. One thread at a time. Throws `errc::io`, and `errc::invalid_argument` for a batch of
  /// another loader; with `all_ranks` those of other ranks of the job are good, too.
  void append(const batch& x);

private:
  class file;
  std::unique_ptr<file> file_;
};

} // namespace leat
