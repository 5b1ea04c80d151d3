#include "runtime/storage/remote/hub/hub_service.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/bearer_signer.hpp"
#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "runtime/storage/whole_file.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace leat {

namespace {

constexpr auto hub_stage = "hf";
constexpr std::size_t most_of_token_file = std::size_t{16} << 10;

using variables = std::function<std::string(const char*)>;

/// Where a login leaves its token.
std::string token_file_of(const variables& variable) {
  if (auto path = variable("HF_TOKEN_PATH"); !path.empty())
    return path;
  if (const auto home = variable("HF_HOME"); !home.empty())
    return home + "/token";
  const auto cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? variable("HOME") + "/.cache" : cache) + "/huggingface/token";
}

/// As the Hub's own tools read their variables.
bool is_true(const std::string& value) {
  constexpr std::array words{"1", "on", "yes", "true"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* x) { return ::strcasecmp(value.c_str(), x) == 0; });
}

/// Empty if there is no such file.
std::string token_in_file(const std::string& path) try {
  auto all = read_whole_file(path, most_of_token_file, hub_stage);
  auto token = std::string{trimmed(all)};
  wipe(all.data(), all.size());
  return token;
} catch (const error& x) {
  if (x.code() != errc::not_found)
    throw;
  return {};
}

secret hub_token(const variables& variable, const remote_options& chosen) {
  if (chosen.anonymous)
    return {};
  // An endpoint of the options may be meant for other sources: it gets no token that nobody chose
  // for it.
  if (!chosen.token.is_empty() || !chosen.endpoint.empty())
    return chosen.token;
  if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN")))
    return {};
  auto token = std::string{trimmed(variable("HF_TOKEN"))};
  if (token.empty())
    token = token_in_file(token_file_of(variable));
  if (has_control_character(token))
    throw_error(errc::invalid_argument, hub_stage, "a token with a control character in it",
                "one line: the token of huggingface.co/settings/tokens");
  secret kept{token};
  wipe(token.data(), token.size());
  return kept;
}

} // namespace

hub_service find_hub_service(const variables& variable, const remote_options& chosen) {
  auto endpoint = chosen.endpoint.empty() ? variable("HF_ENDPOINT") : chosen.endpoint;
  if (endpoint.empty())
    endpoint = "https://huggingface.co";
  bearer_signer::facts by{
      .token = hub_token(variable, chosen),
      .follows_redirects = true,
      .who = chosen.token.is_empty() ? "HF_TOKEN, or the token of a login"
                                     : "the token of the options",
      .advice = chosen.endpoint.empty()
                    ? "a data set that there is, and HF_TOKEN, or `hf auth login`, of somebody who "
                      "may read it"
                    : "a data set that there is, and the option `token` of somebody who may read "
                      "it: HF_TOKEN and logins are for HF_ENDPOINT, not for other endpoints"};
  endpoint = checked_endpoint(std::move(endpoint), !by.token.is_empty(), hub_stage);
  by.origin = endpoint;
  return {endpoint, std::make_shared<bearer_signer>(std::move(by))};
}

hub_service process_hub_service(const remote_options& chosen) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return std::string{value ? value : ""};
  };
  return find_hub_service(variable, chosen);
}

} // namespace leat
