#include "runtime/storage/remote/aws_settings.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
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

/// Whether everybody on the way to an endpoint sees what is said to it.
bool is_overheard(std::string_view endpoint) {
  if (!endpoint.starts_with("http://"))
    return false;
  const auto host = endpoint.substr(7);
  return !host.starts_with("127.") && !host.starts_with("[::1]") && host != "localhost"
         && !host.starts_with("localhost:");
}

std::string checked_endpoint(std::string x, bool is_signed) {
  while (x.ends_with('/'))
    x.pop_back();
  if (!x.empty() && !x.starts_with("https://") && !x.starts_with("http://"))
    throw_error(errc::invalid_argument, s3_stage, "the endpoint " + excerpt(x),
                "https://HOST or https://HOST:PORT");
  if (is_signed && is_overheard(x))
    throw_error(errc::invalid_argument, s3_stage,
                "the endpoint " + excerpt(x) + ", which would show signed requests to everybody",
                "https://, an endpoint on this machine, or no credentials");
  return x;
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

aws_settings read_aws_settings(const variables& variable) {
  const auto chosen = first_set(variable, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const auto name = chosen.empty() ? std::string{"default"} : chosen;
  auto profile = merged_profile(variable, name);
  if (!chosen.empty() && profile.empty())
    throw_error(errc::invalid_argument, s3_stage, "AWS_PROFILE=" + excerpt(chosen),
                "a profile that ~/.aws/credentials or ~/.aws/config has");

  aws_settings x;
  x.source = "the environment";
  x.credentials = pair_of(variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                          variable("AWS_SESSION_TOKEN"), "the environment");
  if (!x.credentials) {
    x.source = "the profile " + excerpt(name);
    x.credentials =
        pair_of(value_of(profile, "aws_access_key_id"), value_of(profile, "aws_secret_access_key"),
                value_of(profile, "aws_session_token"), x.source);
  }
  x.region = first_set(variable, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (x.region.empty())
    x.region = value_of(profile, "region");
  if (x.region.empty())
    x.region = "us-east-1";
  x.endpoint = first_set(variable, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (x.endpoint.empty())
    x.endpoint = value_of(profile, "endpoint_url");
  if (!x.credentials) {
    x.issuer = find_aws_issuer(variable, profile, x.region);
    x.source = "the environment and " + x.source;
  }
  const bool is_signed = x.credentials || (x.issuer && !x.issuer->may_be_missing);
  x.endpoint = checked_endpoint(std::move(x.endpoint), is_signed);
  if (is_overheard(x.endpoint))
    x.issuer.reset(); // the role of a machine that happens to have one is not shown either
  for (auto& [key, value] : profile)
    wipe(value.data(), value.size());
  return x;
}

aws_settings process_aws_settings() {
  return read_aws_settings([](const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return std::string{value ? value : ""};
  });
}

} // namespace leat
