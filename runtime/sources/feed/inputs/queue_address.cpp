#include "runtime/sources/feed/inputs/queue_address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr auto queue_address_stage = "feed's input";
constexpr auto queue_address_form = "SCHEME://[USER:PASSWORD@]HOST:PORT/NAME?PARAMETER=VALUE&...";
constexpr unsigned most_patience = 1'000'000;

/// Reads the parts of a URL. Errors show the URL without its user and parameters, and nothing of
/// what could not be read, which may be a part of a password.
class queue_url {
public:
  explicit queue_url(const std::string& url) : url_(url) {}

  queue_address read(std::uint16_t usual_port) const {
    queue_address x;
    x.scheme = scheme_of(url_);
    if (x.scheme.empty())
      refuse("a name without a scheme", queue_address_form);
    auto rest = std::string_view{url_}.substr(x.scheme.size() + 3);
    if (rest.find('#') != rest.npos)
      refuse("an address with \"#\"", "%23 for the character itself");
    const auto query = std::min(rest.find('?'), rest.size());
    read_parameters(x, rest.substr(std::min(query + 1, rest.size())));
    rest = rest.substr(0, query);
    const auto slash = std::min(rest.find('/'), rest.size());
    x.path = decoded(rest.substr(std::min(slash + 1, rest.size())));
    auto server = rest.substr(0, slash);
    if (const auto at = server.rfind('@'); at != server.npos) {
      read_user(x, server.substr(0, at));
      server.remove_prefix(at + 1);
    }
    read_server(x, server, usual_port);
    if (has_control_character(x.path) || as_utf8(x.path) != x.path)
      refuse("a path that is not text", "UTF-8 without control characters");
    x.name = x.scheme + "://" + to_string(x.server) + (x.path.empty() ? "" : "/" + x.path);
    return x;
  }

private:
  [[noreturn]] void refuse(std::string got, std::string needed) const {
    throw_file_error(errc::invalid_argument, queue_address_stage, as_utf8(without_secrets(url_)),
                     std::move(got), std::move(needed));
  }

  std::string decoded(std::string_view text) const {
    auto found = percent_decoded(text);
    if (!found)
      refuse("a \"%\" without two hexadecimal digits after it", "%25 for the character itself");
    return std::move(*found);
  }

  secret decoded_secret(std::string_view text) const {
    auto found = decoded(text);
    secret x{found};
    wipe(found.data(), found.size());
    return x;
  }

  void read_user(queue_address& x, std::string_view text) const {
    const auto colon = std::min(text.find(':'), text.size());
    x.user = decoded_secret(text.substr(0, colon));
    x.password = decoded_secret(text.substr(std::min(colon + 1, text.size())));
  }

  void read_server(queue_address& x, std::string_view text, std::uint16_t usual_port) const {
    const bool has_port = text.rfind(':') != text.npos && !text.ends_with(']');
    const auto port =
        has_port || usual_port == 0 ? std::string{} : ':' + std::to_string(usual_port);
    try {
      x.server = parse_address(std::string{text} + port, queue_address_stage);
    } catch (const error&) {
      refuse("an address without a valid host and port",
             std::string{queue_address_form}
                 + "; \"/\", \"?\", \"#\" and \"@\" of a password are written %2F, %3F, %23, %40");
    }
  }

  void read_parameters(queue_address& x, std::string_view text) const {
    while (!text.empty()) {
      const auto end = std::min(text.find('&'), text.size());
      const auto one = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const auto equals = one.find('=');
      if (equals == one.npos)
        refuse("a parameter without a value", "?PARAMETER=VALUE&...");
      if (!x.parameters.emplace(decoded(one.substr(0, equals)), decoded(one.substr(equals + 1)))
               .second)
        refuse("a parameter that stands twice", "each once");
    }
  }

  const std::string& url_;
};

} // namespace

std::string process_variable(const char* name) {
  const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return value ? value : "";
}

queue_address parse_queue_address(const std::string& url, std::uint16_t usual_port) {
  return queue_url{url}.read(usual_port);
}

std::string take_parameter(queue_address& from, std::string_view name, std::string_view otherwise) {
  const auto found = from.parameters.find(name);
  if (found == from.parameters.end())
    return std::string{otherwise};
  auto value = std::move(found->second);
  from.parameters.erase(found);
  return value;
}

std::chrono::seconds take_patience(queue_address& from) {
  const auto text = take_parameter(from, "patience", "600");
  unsigned seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc{} || end != text.data() + text.size() || seconds < 1
      || seconds > most_patience)
    refuse_address(from, "patience=" + excerpt(text),
                   "seconds for which the server may be out of reach, 1 to "
                       + std::to_string(most_patience));
  return std::chrono::seconds{seconds};
}

void refuse_parameters(const queue_address& left, const std::string& known) {
  if (!left.parameters.empty())
    refuse_address(left, "the parameter " + excerpt(left.parameters.begin()->first),
                   "one of " + known);
}

void refuse_address(const queue_address& x, std::string got, std::string needed) {
  throw_file_error(errc::invalid_argument, queue_address_stage, x.name, std::move(got),
                   std::move(needed));
}

} // namespace leat
