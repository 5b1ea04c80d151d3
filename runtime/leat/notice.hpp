#pragma once

#include <leat/export.hpp>

#include <functional>
#include <string>

namespace leat {

/// Receives what a user should know and nothing fails of: an incomplete snapshot set that was
/// skipped, an index that could not be kept.
using notice_handler = std::function<void(const std::string& text)>;

/// Sets who receives notices in this process; by default they are lines on standard error.
/// Any thread, but not while loaders run. The handler may be called from any thread.
LEAT_API void set_notice_handler(notice_handler handler);

/// Sends a notice.
LEAT_API void notice(const std::string& text);

} // namespace leat
