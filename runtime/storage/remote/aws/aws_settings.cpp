#include "runtime/storage/remote/aws/aws_settings.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/service_endpoint.hpp"
#include "runtime/storage/whole_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace leat {

namespace {

constexpr auto s3_stage = "s3";

using variables = std::function<std::string(const char*)>;

/// Empty if there is no such file.
std::string profiles_in(const std::string& path) try {
  return read_whole_file(path, std::size_t{1} << 20, s3_stage);
} catch (const error& x) {
  if (x.code() != errc::not_found)
    throw;
  return {};
}

std::string first_set(const variables& variable, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto value = variable(name); !value.empty())
      return value;
  return {};
}

std::string value_of(const std::map<std::string, std::string>& profile, const char* name) {
  const auto at = profile.find(name);
  return at == profile.end() ? std::string{} : at->second;
}

/// Nothing if there is no key; half of a pair is an error.
std::optional<aws_credentials> pair_of(const std::string& key, std::string secret_key,
                                       const std::string& token, const std::string& where) {
  if (key.empty() && secret_key.empty())
    return {};
  if (key.empty() || secret_key.empty())
    throw_error(errc::invalid_argument, s3_stage, "only one half of a pair of keys in " + where,
                "an access key and its secret key, or neither");
  aws_credentials x{key, secret{secret_key}, secret{token}};
  wipe(secret_key.data(), secret_key.size());
  return x;
}

/// The profile in both files; what stands in that of credentials counts first.
std::map<std::string, std::string> merged_profile(const variables& variable,
                                                  const std::string& name) {
  const auto home = variable("HOME") + "/.aws/";
  const auto path = [&](const char* chosen, const char* usual) {
    auto given = variable(chosen);
    return given.empty() ? home + usual : given;
  };
  auto profile = aws_profile(profiles_in(path("AWS_SHARED_CREDENTIALS_FILE", "credentials")), name);
  profile.merge(aws_profile(profiles_in(path("AWS_CONFIG_FILE", "config")), name));
  return profile;
}

/// Those of the options, of the environment, or of the profile of this name.
void find_credentials(const variables& variable, const remote_options& chosen,
                      const std::map<std::string, std::string>& profile, const std::string& name,
                      aws_settings& to) {
  to.source = "the options";
  if (chosen.anonymous)
    return;
  if (!chosen.access_key.empty()) {
    to.credentials = {chosen.access_key, chosen.secret_key, chosen.session_token};
    return;
  }
  if (chosen.profile.empty()) { // which was chosen against the keys of the environment
    to.source = "the environment";
    to.credentials = pair_of(variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                             variable("AWS_SESSION_TOKEN"), "the environment");
  }
  if (!to.credentials) {
    to.source = "the profile " + excerpt(name);
    to.credentials =
        pair_of(value_of(profile, "aws_access_key_id"), value_of(profile, "aws_secret_access_key"),
                value_of(profile, "aws_session_token"), to.source);
  }
}

} // namespace

std::map<std::string, std::string> aws_profile(std::string_view file, std::string_view name) {
  std::map<std::string, std::string> values;
  bool is_here = false;
  while (!file.empty()) {
    const auto end = std::min(file.find('\n'), file.size());
    const auto line = file.substr(0, end);
    file.remove_prefix(std::min(end + 1, file.size()));
    const auto text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';')
      continue;
    if (text.front() == '[' && text.back() == ']') {
      auto section = trimmed(text.substr(1, text.size() - 2));
      if (section.starts_with("profile "))
        section = trimmed(section.substr(8));
      is_here = section == name;
      continue;
    }
    const auto equals = text.find('=');
    if (is_here && !is_line_space(line.front()) && equals != std::string_view::npos)
      values.emplace(trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)));
  }
  return values;
}

aws_settings read_aws_settings(const variables& variable, const remote_options& chosen) {
  auto profile_name = chosen.profile;
  if (profile_name.empty())
    profile_name = first_set(variable, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const auto name = profile_name.empty() ? std::string{"default"} : profile_name;
  auto profile = merged_profile(variable, name);
  if (!profile_name.empty() && profile.empty())
    throw_error(errc::invalid_argument, s3_stage, "the profile " + excerpt(name),
                "a profile that ~/.aws/credentials or ~/.aws/config has");

  aws_settings x;
  x.bucket_in = chosen.bucket_in;
  x.requester_pays = chosen.requester_pays;
  find_credentials(variable, chosen, profile, name, x);
  x.region = chosen.region;
  if (x.region.empty())
    x.region = first_set(variable, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (x.region.empty())
    x.region = value_of(profile, "region");
  if (x.region.empty())
    x.region = "us-east-1";
  x.endpoint = chosen.endpoint;
  if (x.endpoint.empty())
    x.endpoint = first_set(variable, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (x.endpoint.empty())
    x.endpoint = value_of(profile, "endpoint_url");
  if (!x.credentials && !chosen.anonymous) {
    // A program of a profile that was chosen counts before the role of a pod.
    const bool has_program = !chosen.profile.empty() && profile.contains("credential_process");
    x.issuer = find_aws_issuer(
        [&](const char* of) {
          return has_program && of == std::string_view{"AWS_WEB_IDENTITY_TOKEN_FILE"}
                     ? std::string{}
                     : variable(of);
        },
        profile, x.region);
    x.source = "the environment and " + x.source;
  }
  const bool is_signed = x.credentials || (x.issuer && !x.issuer->may_be_missing);
  x.endpoint = checked_endpoint(std::move(x.endpoint), is_signed, s3_stage);
  if (is_overheard(x.endpoint))
    x.issuer.reset(); // the role of a machine that happens to have one is not shown either
  for (auto& [key, value] : profile)
    wipe(value.data(), value.size());
  return x;
}

aws_settings process_aws_settings(const remote_options& chosen) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return std::string{value ? value : ""};
  };
  return read_aws_settings(variable, chosen);
}

} // namespace leat
