#pragma once

#include <leat/export.hpp>

#include <cstddef>
#include <memory>

namespace leat {

class runtime_core;

struct runtime_options {
  /// Threads that deal work and close batches, for all loaders together; at least 1, at most 256.
  /// Their work takes microseconds: two are enough for many loaders. Workers and saves have
  /// threads of their own beside them.
  std::size_t control_threads = 2;
};

/// What loaders run in: their actors, and the threads of these. Loaders share the process's one
/// unless `loader_options::runtime` names another. Threads begin with the first loader that needs
/// some; a loader without workers needs none. All members: any thread.
class LEAT_API runtime {
public:
  /// Throws `errc::invalid_argument`.
  explicit runtime(runtime_options options = {});
  /// As shutdown(). Loaders keep the runtime alive that they were given.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Ends the runtime for good, and with it all loaders that live. Saves in progress are finished,
  /// running functions of pipelines are asked to stop (`context::cancelled`), and all threads are
  /// joined, which waits for these functions, unless one does not return (has_abandoned()).
  /// Afterwards next(), save() and all else that changes a loader throw `errc::shut_down`, also the
  /// next() that another thread waits in; batches that are leased, position(), snapshot() and
  /// stats() stay good. Another call does nothing.
  ///
  /// Not for functions of a pipeline, which it would wait for. In the child of a fork it does
  /// nothing to a runtime of the parent.
  void shutdown() noexcept;

private:
  friend class job_engine;

  /// The process's own, a new one if there is none that runs.
  static std::shared_ptr<runtime> of_process();

  std::shared_ptr<runtime_core> core_;
};

/// Ends the process's own runtime, as runtime::shutdown() does, if there is one; the next loader
/// begins a new one. Call it before a fork, so that the child can have loaders of its own, and
/// where threads must be gone before the process ends (atexit of a Python module). Programs that
/// just return from main need not.
LEAT_API void shutdown() noexcept;

/// Whether the end of a loader, or of a runtime, has given up waiting for a function of a pipeline
/// that does not return (`errc::stuck`): its thread lives until the process ends, and so does all
/// that it may use. The program can still return from main.
LEAT_API bool has_abandoned() noexcept;

} // namespace leat
