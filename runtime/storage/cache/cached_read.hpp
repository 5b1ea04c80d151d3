#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/cache/block_id.hpp"
#include "runtime/storage/remote/range_fetch.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace leat {

/// A fetch whose bytes come from several places: it ends with the last of its parts, or soon after
/// its stop. Any thread.
class cached_read : not_copied {
public:
  /// Of an object of `size` bytes. Has one part, which ends with the search for the others.
  cached_read(std::shared_ptr<range_fetch> x, const hash128& key, std::uint64_t size,
              std::stop_token stop)
      : range(x->to_ask()), key(key), object_bytes(size), is_urgent(x->is_urgent),
        object(x->shared_object()), stop(std::move(stop)), fetch_(std::move(x)) {}

  /// From now on `stop` ends it. Once, before anything else.
  static void begin(const std::shared_ptr<cached_read>& x);

  /// Bytes that are here.
  void put(std::uint64_t offset, std::span<const std::byte> bytes);
  void add_part();
  void end_part(const std::shared_ptr<const error>& failure = {});
  /// A part that a fetch of its own writes where it belongs; null once it is stopped. `done` is to
  /// call end_direct.
  std::shared_ptr<range_fetch> begin_direct(const byte_range& part, read_done done);
  void end_direct(const std::shared_ptr<const error>& failure);

  const byte_range range;
  const hash128 key;
  const std::uint64_t object_bytes;
  const bool is_urgent;
  const std::shared_ptr<remote_object> object;
  const std::stop_token stop;

private:
  void request_stop();
  /// Ends the fetch if nothing is to come; called without the lock, as it may end the caller's
  /// world.
  void end_if_done();

  mutex mutex_;
  const std::shared_ptr<range_fetch> fetch_;
  std::size_t parts_ LEAT_GUARDED_BY(mutex_) = 1;
  /// Those that write into the fetch's memory by themselves.
  std::size_t direct_ LEAT_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ LEAT_GUARDED_BY(mutex_) = false;
  bool has_ended_ LEAT_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const error> failure_ LEAT_GUARDED_BY(mutex_);
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

/// Ends a fetch with the failure of another one for the same object.
void fail_like(range_fetch& x, const error& failure);

} // namespace leat
