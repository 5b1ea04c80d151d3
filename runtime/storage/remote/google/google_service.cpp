#include "runtime/storage/remote/google/google_service.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/remote/aws/s3_signer.hpp"
#include "runtime/storage/remote/bearer_signer.hpp"
#include "runtime/storage/remote/google/google_issuer.hpp"
#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace leat {

namespace {

using variables = std::function<std::string(const char*)>;

std::string emulator_of(const variables& variable) {
  const auto host = variable("STORAGE_EMULATOR_HOST");
  return host.empty() || host.find("://") != std::string::npos ? host : "http://" + host;
}

/// Whether it is one of Google's own, such as that of private access.
bool is_googles(std::string_view endpoint) {
  constexpr std::string_view https = "https://";
  if (!endpoint.starts_with(https))
    return false;
  endpoint.remove_prefix(https.size());
  const auto server = endpoint.substr(0, endpoint.find_first_of("/?#"));
  return server.find('@') == std::string_view::npos
         && server.substr(0, server.find(':')).ends_with(".googleapis.com");
}

/// HMAC keys, which sign as Amazon's do.
std::optional<aws_credentials> keys_of(const variables& variable, const remote_options& chosen) {
  if (!chosen.access_key.empty())
    return aws_credentials{chosen.access_key, chosen.secret_key};
  aws_credentials x{variable("GS_ACCESS_KEY_ID"), secret{variable("GS_SECRET_ACCESS_KEY")}};
  if (x.access_key.empty() != x.secret_key.is_empty())
    throw_error(errc::invalid_argument, gs_stage,
                "only one half of a pair of keys in the environment",
                "GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, or neither");
  return x.access_key.empty() ? std::nullopt : std::optional{std::move(x)};
}

std::string payer_of(const variables& variable, const std::string& named) {
  for (const char* name : {"GOOGLE_CLOUD_QUOTA_PROJECT", "GOOGLE_CLOUD_PROJECT"})
    if (auto project = variable(name); !project.empty())
      return project;
  if (named.empty())
    throw_error(errc::invalid_argument, gs_stage, "no project that pays",
                "GOOGLE_CLOUD_PROJECT, for buckets whose requesters pay");
  return named;
}

} // namespace

bucket_service find_google_service(const variables& variable, const remote_options& chosen,
                                   google_access to) {
  const auto emulator = emulator_of(variable);
  bucket_service x;
  x.at.region = chosen.region.empty() ? "auto" : chosen.region;
  x.at.bucket_in = chosen.bucket_in;
  const auto endpoint = !chosen.endpoint.empty() ? chosen.endpoint
                        : emulator.empty()       ? "https://storage.googleapis.com"
                                                 : emulator;
  const auto with_endpoint = [&](bool says_who_asks) {
    return checked_endpoint(endpoint, says_who_asks, gs_stage);
  };
  const bool has_token = !chosen.token.is_empty();
  if (!chosen.anonymous && !has_token)
    x.at.credentials = keys_of(variable, chosen);
  if (x.at.credentials) {
    if (chosen.requester_pays)
      throw_error(errc::invalid_argument, gs_stage, "HMAC keys, and a requester who pays",
                  "a service account, or another token");
    x.at.source = "the keys of the options, or GS_ACCESS_KEY_ID";
    x.at.endpoint = with_endpoint(true);
    x.signer = std::make_shared<s3_signer>(x.at, nullptr);
    return x;
  }
  bearer_signer::facts by{.token = chosen.token,
                          .who = "the token of the options",
                          .advice = "an object that the token of the options may read"};
  std::string project;
  if (!chosen.anonymous && !has_token) {
    by.advice = is_googles(endpoint)
                    ? "credentials: GOOGLE_APPLICATION_CREDENTIALS, or GS_ACCESS_KEY_ID and "
                      "GS_SECRET_ACCESS_KEY; there are none"
                    : "credentials: the option `token`, or GS_ACCESS_KEY_ID and "
                      "GS_SECRET_ACCESS_KEY; GOOGLE_APPLICATION_CREDENTIALS are for Google's own "
                      "endpoints";
    // Another service gets no tokens of an identity that nobody chose for it.
    if (auto found = is_googles(endpoint) ? find_google_identity(variable, to) : std::nullopt) {
      by.keeper = keeper_for(found->issuer);
      project = found->project;
      by.advice = by.keeper ? "an object that " + by.keeper->source() + " may read"
                            : by.advice + ", and " + nobody_issues(found->issuer.source);
    }
  } else if (!has_token)
    by.advice = "credentials: requests are anonymous, by an option";
  x.at.endpoint = with_endpoint(has_token || by.keeper);
  if (has_token || by.keeper || chosen.requester_pays)
    x.at.bucket_in = bucket_place::path; // these are shown to one host, whatever the bucket
  by.origin = x.at.endpoint;
  if (chosen.requester_pays) {
    const auto payer = payer_of(variable, project);
    if (has_control_character(payer))
      throw_error(errc::invalid_argument, gs_stage,
                  "a project that pays with a control character in its name",
                  "one line, without the line end");
    by.headers = {"x-goog-user-project: " + payer};
  }
  x.signer = std::make_shared<bearer_signer>(std::move(by));
  return x;
}

bucket_service process_google_service(const remote_options& chosen, google_access to) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return std::string{value ? value : ""};
  };
  return find_google_service(variable, chosen, to);
}

} // namespace leat
