#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace leat {

/// Receives what a user should know and nothing fails of: an incomplete snapshot set that was
/// skipped, an index that could not be kept.
using notice_handler = std::function<void(const std::string& text)>;

/// Sets who receives notices in this process; by default they are lines on standard error.
/// Any thread, but not while loaders run. The handler may be called from any thread. What it throws
/// reaches nobody: the text then is a line on standard error.
LEAT_API void set_notice_handler(notice_handler handler);

/// Sends a notice.
LEAT_API void notice(const std::string& text);

/// How far something is that may take long: opening thousands of shards for the first time.
struct progress {
  /// "shards opened"
  std::string_view what;
  std::uint64_t done = 0;
  std::uint64_t all = 0;
};
using progress_handler = std::function<void(const progress& now)>;

/// Sets who is told of progress in this process; by default nobody is. Any thread, but not while
/// data are opened. The handler is called from any thread. For the shards of one source it is one
/// call at a time, with `done` rising up to `all`; sources that are opened in several threads call
/// it side by side. When to show it is its own affair. What it throws comes out of what opens the
/// data.
LEAT_API void set_progress_handler(progress_handler handler);

/// Tells of progress.
LEAT_API void report(const progress& now);

} // namespace leat
