#include "runtime/network/links/refusal_log.hpp"

#include "runtime/base/text.hpp"

namespace leat {

void refusal_log::add(const std::string& address, const std::string& why, time_point now) {
  if (!tell_)
    return;
  if (now >= minute_ + std::chrono::minutes{1} || told_ == 0) {
    minute_ = now;
    told_ = 0;
    if (const auto others = std::exchange(untold_, 0); others > 0)
      tell_("refused " + counted(others, "other connection"));
  }
  if (told_ < most_per_minute) {
    ++told_;
    tell_("refused a connection from " + address + ": " + why);
  } else {
    ++untold_;
  }
}

} // namespace leat
