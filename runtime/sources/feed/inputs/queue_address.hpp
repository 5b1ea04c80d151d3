#pragma once

#include "runtime/network/address.hpp"

#include <leat/secret.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace leat {

/// Gives the value of a variable of the environment; empty where there is none.
using queue_environment = std::function<std::string(const char*)>;
std::string process_variable(const char* name);

/// Where a queue is, as a URL says it:
/// scheme://[user[:password]@]host[:port][/path][?name=value&...]. Percent-encoding stands for any
/// byte, except in host and port.
struct queue_address {
  std::string scheme = {};
  secret user = {};
  secret password = {};
  network_address server = {};
  /// Without the first "/".
  std::string path = {};
  std::map<std::string, std::string, std::less<>> parameters = {};
  /// scheme://host:port/path, for texts: what may be a secret is not in it.
  std::string name = {};
};

/// `usual_port`: 0 if the URL has to say it. Throws `errc::invalid_argument`, without what may be a
/// secret.
queue_address parse_queue_address(const std::string& url, std::uint16_t usual_port);

/// Removes a parameter and returns its value, or `otherwise`.
std::string take_parameter(queue_address& from, std::string_view name, std::string_view otherwise);
/// The same for a number of seconds, 1 to 1,000,000: how long a server may be out of reach.
std::chrono::seconds take_patience(queue_address& from);
/// Refuses the parameters that nobody has taken. `known`: their names, for the text.
void refuse_parameters(const queue_address& left, const std::string& known);

/// Throws `errc::invalid_argument` about this address.
[[noreturn]] void refuse_address(const queue_address& x, std::string got, std::string needed);

} // namespace leat
