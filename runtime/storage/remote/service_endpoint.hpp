#pragma once

#include <string>
#include <string_view>

namespace leat {

/// Whether everybody on the way to an endpoint sees what is said to it: it is http://, and not on
/// this machine.
bool is_overheard(std::string_view endpoint);

/// The endpoint of a service without a "/" at its end. Throws `errc::invalid_argument` with this
/// `stage` for anything but https://HOST and http://HOST, also for one with a user or a query in
/// it, which it does not show, and for one that would show everybody who asks, by requests that say
/// it.
std::string checked_endpoint(std::string x, bool says_who_asks, const std::string& stage);

} // namespace leat
