#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/aws_issuer.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <thread>

namespace leat {

/// Credentials that somebody issues, renewed in time by a thread of their own. Any thread.
class aws_keeper : not_copied {
public:
  /// Asks for the first ones: blocks, and throws what the issuer throws.
  explicit aws_keeper(aws_issuer by);
  ~aws_keeper();

  /// Those of this time (seconds since 1970). Never blocks: they are renewed 5 to 10 minutes before
  /// they expire, and used until then if that fails.
  aws_credentials current(std::int64_t time);
  /// A service says that they are of no use any more.
  void renew(std::int64_t time);
  const std::string& source() const noexcept { return by_.source; }

private:
  void renew_soon(std::int64_t time) LEAT_REQUIRES(mutex_);
  void take(issued_credentials x) LEAT_REQUIRES(mutex_);

  /// After a failure nobody is asked again for so long.
  static constexpr std::int64_t pause_after_failure = 10;

  const aws_issuer by_;
  mutex mutex_;
  issued_credentials now_ LEAT_GUARDED_BY(mutex_);
  std::int64_t renew_at_ LEAT_GUARDED_BY(mutex_) = std::numeric_limits<std::int64_t>::max();
  bool is_renewing_ LEAT_GUARDED_BY(mutex_) = false;
  /// The last one that renewed them.
  std::thread renewing_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
