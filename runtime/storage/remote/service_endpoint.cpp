#include "runtime/storage/remote/service_endpoint.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Without a user and a port.
std::string_view host_in(std::string_view server) {
  server = server.substr(0, server.find_first_of("/?#"));
  if (const auto at = server.rfind('@'); at != std::string_view::npos)
    server.remove_prefix(at + 1);
  if (!server.starts_with('['))
    return server.substr(0, server.find(':'));
  const auto end = std::min(server.find(']'), server.size() - 1) + 1;
  const bool has_ended = end == server.size() || server[end] == ':';
  return has_ended ? server.substr(0, end) : server;
}

/// Other names may begin like these and be anybody's: 127.evil.example.
bool is_this_machine(std::string_view host) {
  if (host == "localhost" || host == "[::1]")
    return true;
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3
         && host.find("..") == std::string_view::npos && is_digit(host.back())
         && std::all_of(host.begin(), host.end(), [](char x) { return x == '.' || is_digit(x); });
}

} // namespace

bool is_overheard(std::string_view endpoint) {
  if (!endpoint.starts_with("http://"))
    return false;
  return !is_this_machine(host_in(endpoint.substr(7)));
}

std::string checked_endpoint(std::string x, bool says_who_asks, const std::string& stage) {
  const bool is_given = !x.empty();
  while (x.ends_with('/'))
    x.pop_back();
  // Nothing of these is shown: a password may be anywhere in them.
  if (x.find_first_of("@?#") != std::string::npos)
    throw_error(errc::invalid_argument, stage, "an endpoint with \"@\", \"?\" or \"#\" in it",
                "https://HOST or https://HOST:PORT, and credentials apart from it");
  if (has_control_character(x))
    throw_error(errc::invalid_argument, stage, "an endpoint with a control character in it",
                "one line: https://HOST or https://HOST:PORT");
  const auto shown = "the endpoint " + excerpt(x);
  if (is_given && !x.starts_with("https://") && !x.starts_with("http://"))
    throw_error(errc::invalid_argument, stage, shown, "https://HOST or https://HOST:PORT");
  if (says_who_asks && is_overheard(x))
    throw_error(errc::invalid_argument, stage,
                shown + ", which would show signed requests to everybody",
                "https://, an endpoint on this machine, or no credentials");
  return x;
}

} // namespace leat
