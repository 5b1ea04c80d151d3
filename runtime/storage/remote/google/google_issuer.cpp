#include "runtime/storage/remote/google/google_issuer.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/google/google_jwt.hpp"
#include "runtime/storage/remote/plain_request.hpp"
#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "runtime/storage/whole_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace leat {

namespace {

using json = nlohmann::json;
using variables = std::function<std::string(const char*)>;

constexpr std::size_t most_of_file = std::size_t{64} << 10;
constexpr std::int64_t life_of_assertion = 3600;
/// What this machine's clock may be ahead.
constexpr std::int64_t most_seconds_ahead = 60;
constexpr auto usual_token_service = "https://oauth2.googleapis.com/token";

std::string member_in(const json& all, const char* name) {
  const auto at = all.find(name);
  return at != all.end() && at->is_string() ? at->get<std::string>() : std::string{};
}

[[noreturn]] void refuse_file(const std::string& name, std::string got) {
  throw_file_error(errc::invalid_argument, gs_stage, name, std::move(got),
                   "the JSON key of a service account, or what `gcloud auth application-default "
                   "login` writes");
}

/// A member that must be there.
std::string needed_in(const json& all, const char* member, const std::string& file) {
  auto value = member_in(all, member);
  if (value.empty())
    refuse_file(file, "no \"" + std::string{member} + '"');
  return value;
}

/// Secrets go there.
std::string checked_service(std::string url, const std::string& file) {
  if (!url.starts_with("https://") && (!url.starts_with("http://") || is_overheard(url)))
    refuse_file(file, "a token_uri that is not https://");
  return url;
}

issued<secret> token_by(const std::string& service, const std::string& parameters,
                        const std::string& source) {
  auto body = ask({.url = service,
                   .method = "POST",
                   .body = secret{parameters},
                   .stage = gs_stage,
                   .timeout = std::chrono::seconds{10},
                   .needed = "credentials from this service: check that they are still valid, and "
                             "this machine's clock"});
  auto token = token_in_json(body, source, std::time(nullptr));
  wipe(body.data(), body.size());
  return token;
}

token_issuer service_account(const json& all, const std::string& file, google_access to) {
  const auto email = needed_in(all, "client_email", file);
  const secret key{needed_in(all, "private_key", file)};
  const auto key_id = member_in(all, "private_key_id");
  auto service = member_in(all, "token_uri");
  service = checked_service(service.empty() ? usual_token_service : service, file);
  const auto source = "the service account " + email;
  const auto scope = std::string{"https://www.googleapis.com/auth/devstorage."}
                     + (to == google_access::write ? "read_write" : "read_only");
  return {.source = source,
          .issue =
              [=] {
                json header{{"alg", "RS256"}, {"typ", "JWT"}};
                if (!key_id.empty())
                  header["kid"] = key_id;
                // The service takes nothing that is of a later time than its own.
                const auto now = static_cast<std::int64_t>(std::time(nullptr)) - most_seconds_ahead;
                const json claims{{"iss", email},
                                  {"scope", scope},
                                  {"aud", service},
                                  {"iat", now},
                                  {"exp", now + life_of_assertion}};
                return token_by(
                    service,
                    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
                        + signed_jwt(header.dump(), claims.dump(), key),
                    source);
              },
          .key = "service account " + email + " " + key_id + " " + service
                 + (to == google_access::write ? " to write" : "")};
}

token_issuer authorized_user(const json& all, const std::string& file) {
  const auto client = needed_in(all, "client_id", file);
  const secret client_secret{needed_in(all, "client_secret", file)};
  const secret refresh{needed_in(all, "refresh_token", file)};
  auto service = member_in(all, "token_uri");
  service = checked_service(service.empty() ? usual_token_service : service, file);
  const std::string source = "the user of " + file;
  return {.source = source,
          .issue =
              [=] {
                return token_by(
                    service,
                    "grant_type=refresh_token&client_id=" + percent_encoded(client, false)
                        + "&client_secret=" + percent_encoded(client_secret.reveal(), false)
                        + "&refresh_token=" + percent_encoded(refresh.reveal(), false),
                    source);
              },
          .key = "user " + client + " " + file + " " + service};
}

/// Elsewhere than in Google's cloud nobody answers; there, an answer may take a while, or fail as a
/// pod begins.
std::string ask_machine(const std::string& url) {
  using namespace std::chrono_literals;
  constexpr int most_tries = 3;
  for (int tries = 1;; ++tries)
    try {
      return ask({.url = url,
                  .headers = {"Metadata-Flavor: Google"},
                  .stage = gs_stage,
                  .is_direct = true,
                  .timeout = 3s,
                  .connect_timeout = 1s});
    } catch (const error&) {
      if (tries == most_tries)
        throw;
    }
}

token_issuer google_machine(const std::string& host) {
  const std::string source = "the service account of this machine";
  const auto service = "http://" + (host.empty() ? std::string{"169.254.169.254"} : host);
  return {.source = source,
          .issue =
              [=] {
                const auto url =
                    service + "/computeMetadata/v1/instance/service-accounts/default/token";
                return token_in_json(ask_machine(url), source, std::time(nullptr));
              },
          .key = "google machine " + service,
          .may_be_missing = true};
}

/// Where gcloud leaves the credentials of a user; empty if it has not.
std::string usual_file(const variables& variable) {
  const auto chosen = variable("CLOUDSDK_CONFIG");
  const auto folder = chosen.empty() ? variable("HOME") + "/.config/gcloud" : chosen;
  return folder + "/application_default_credentials.json";
}

std::string content_of_file(const std::string& path, bool may_be_missing) try {
  return read_whole_file(path, most_of_file, gs_stage);
} catch (const error& x) {
  if (!may_be_missing || x.code() != errc::not_found)
    throw;
  return {};
}

} // namespace

issued<secret> token_in_json(std::string_view text, const std::string& source, std::int64_t time) {
  const auto all = json::parse(text, nullptr, false);
  auto token = all.is_object() ? member_in(all, "access_token") : std::string{};
  if (token.empty() || has_control_character(token))
    throw_error(errc::io, gs_stage, "an answer without a token from " + source,
                "JSON with access_token and expires_in");
  issued<secret> x{secret{token}};
  wipe(token.data(), token.size());
  if (const auto life = all.find("expires_in"); life != all.end() && life->is_number_unsigned())
    x.until =
        time
        + static_cast<std::int64_t>(std::min(life->get<std::uint64_t>(), std::uint64_t{1} << 40));
  return x;
}

google_identity identity_in_json(std::string_view text, const std::string& name, google_access to) {
  const auto all = json::parse(text, nullptr, false);
  if (!all.is_object())
    refuse_file(name, "no JSON object");
  const auto type = member_in(all, "type");
  if (type != "service_account" && type != "authorized_user")
    refuse_file(name, "credentials of the type " + excerpt(type));
  auto project = member_in(all, "quota_project_id");
  if (project.empty())
    project = member_in(all, "project_id");
  return {.issuer = type == "service_account" ? service_account(all, name, to)
                                              : authorized_user(all, name),
          .project = std::move(project)};
}

std::optional<google_identity> find_google_identity(const variables& variable, google_access to) {
  const auto named = variable("GOOGLE_APPLICATION_CREDENTIALS");
  const auto file = named.empty() ? usual_file(variable) : named;
  auto text = content_of_file(file, named.empty());
  if (!text.empty()) {
    auto found = identity_in_json(text, file, to);
    wipe(text.data(), text.size());
    return found;
  }
  if (variable("NO_GCE_CHECK") == "true")
    return {};
  return google_identity{.issuer = google_machine(variable("GCE_METADATA_HOST"))};
}

} // namespace leat
