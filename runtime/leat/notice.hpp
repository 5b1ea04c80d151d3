#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace leat {

/// Receives what a user should know although nothing fails: an incomplete snapshot set that was
/// skipped, an index that could not be stored.
using notice_handler = std::function<void(const std::string& text)>;

/// Sets the receiver of notices in this process; by default they are lines on standard error. Any
/// thread, but not while loaders run. The handler may be called from any thread. If it throws, the
/// exception is dropped and the text is printed to standard error.
LEAT_API void set_notice_handler(notice_handler handler);

/// Sends a notice.
LEAT_API void notice(const std::string& text);

/// How far something has come that may take long: opening thousands of shards for the first time.
struct progress {
  /// "shards opened"
  std::string_view what;
  std::uint64_t done = 0;
  std::uint64_t all = 0;
};
using progress_handler = std::function<void(const progress& now)>;

/// Sets the receiver of progress in this process; by default there is none. Any thread, but not
/// while data is being opened. The handler is called from any thread. For the shards of one source
/// there is one call at a time, with `done` rising up to `all`; sources that are opened in several
/// threads call it side by side. It decides itself when to show progress. Its exceptions come out
/// of the call that opens the data.
LEAT_API void set_progress_handler(progress_handler handler);

/// Reports progress.
LEAT_API void report(const progress& now);

} // namespace leat
