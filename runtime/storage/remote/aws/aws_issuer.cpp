#include "runtime/storage/remote/aws/aws_issuer.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/remote/plain_request.hpp"
#include "runtime/storage/remote/web_address.hpp"
#include "runtime/storage/whole_file.hpp"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

namespace leat {

namespace {

using variables = std::function<std::string(const char*)>;

constexpr std::size_t most_of_token = std::size_t{64} << 10;

[[noreturn]] void refuse_issued(const std::string& source, std::string got) {
  throw_error(errc::io, "s3", std::move(got) + " from " + source,
              "an access key, its secret key, and when they expire");
}

issued_credentials checked(issued_credentials x, const std::string& expires,
                           const std::string& source) {
  if (x.are.access_key.empty() || x.are.secret_key.is_empty())
    refuse_issued(source, "an answer without a pair of keys");
  if (expires.empty())
    return x;
  x.until = seconds_of_time(expires);
  if (!x.until)
    refuse_issued(source, "the time " + excerpt(expires));
  return x;
}

/// What a program prints, which a shell runs.
std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "re"),
                                                             &::pclose};
  if (!pipe)
    throw_error(errc::no_resources, "s3", "no process for credential_process",
                "a machine, or limits of the user, that have more");
  std::string text;
  std::array<char, 4096> bytes{};
  while (const auto n = std::fread(bytes.data(), 1, bytes.size(), pipe.get())) {
    text.append(bytes.data(), n);
    if (text.size() > most_of_token)
      refuse_issued("credential_process", "more than 64 KB");
  }
  return text;
}

aws_issuer web_identity(const std::string& file, const std::string& role, const std::string& name,
                        const std::string& region, const std::string& endpoint) {
  const std::string source = "the web identity of AWS_ROLE_ARN";
  const auto service = endpoint.empty() ? "https://sts." + region + ".amazonaws.com" : endpoint;
  return {source,
          [=] {
            const auto token = read_whole_file(file, most_of_token, "s3"); // renewed by the system
            const auto query =
                "/?Action=AssumeRoleWithWebIdentity&RoleArn=" + percent_encoded(role, false)
                + "&RoleSessionName=" + percent_encoded(name, false) + "&Version=2011-06-15"
                + "&WebIdentityToken=" + percent_encoded(trimmed(token), false);
            return issued_in_xml(ask({.url = service + query}), source);
          },
          "identity " + role + " " + file + " " + service};
}

aws_issuer container(const std::string& url, const std::string& token,
                     const std::string& token_file) {
  const std::string source = "the role of this container";
  return {source,
          [=] {
            plain_request asked{.url = url, .is_direct = url.starts_with("http://")};
            const auto now =
                token_file.empty()
                    ? token
                    : std::string{trimmed(read_whole_file(token_file, most_of_token, "s3"))};
            if (!now.empty())
              asked.headers.push_back("Authorization: " + now);
            return issued_in_json(ask(asked), source);
          },
          "container " + url};
}

aws_issuer machine(const std::string& endpoint) {
  const std::string source = "the role of this machine";
  const auto service = endpoint.empty() ? std::string{"http://169.254.169.254"} : endpoint;
  return {source,
          [=] {
            using namespace std::chrono_literals;
            const auto token =
                ask({.url = service + "/latest/api/token",
                     .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                     .method = "PUT",
                     .is_direct = true,
                     .timeout = 1s}); // elsewhere than in Amazon's cloud nobody answers
            const std::vector<std::string> headers{"X-aws-ec2-metadata-token: " + token};
            const auto place = service + "/latest/meta-data/iam/security-credentials/";
            const std::string roles = ask({.url = place, .headers = headers, .is_direct = true});
            const std::string role{trimmed(roles.substr(0, roles.find('\n')))};
            return issued_in_json(ask({.url = place + role, .headers = headers, .is_direct = true}),
                                  source);
          },
          "machine " + service, true};
}

} // namespace

std::optional<std::int64_t> seconds_of_time(std::string_view text) {
  std::tm parts{};
  const std::string copy{text};
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest)
    return {};
  if (*rest == '.')
    do
      ++rest;
    while (is_digit(*rest));
  std::int64_t offset = 0;
  if (*rest == '+' || *rest == '-') {
    const std::int64_t sign = *rest == '-' ? -1 : 1;
    std::tm ahead{};
    rest = ::strptime(rest + 1, "%H:%M", &ahead);
    if (!rest)
      return {};
    offset = sign * (std::int64_t{ahead.tm_hour} * 3600 + std::int64_t{ahead.tm_min} * 60);
  } else if (*rest == 'Z')
    ++rest;
  if (*rest != '\0')
    return {};
  return ::timegm(&parts) - offset;
}

issued_credentials issued_in_json(std::string_view text, const std::string& source) {
  const auto all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_object())
    refuse_issued(source, "no JSON object");
  const auto value = [&](const char* name) {
    const auto at = all.find(name);
    return at != all.end() && at->is_string() ? at->get<std::string>() : std::string{};
  };
  const auto token = value("SessionToken");
  return checked({{value("AccessKeyId"), secret{value("SecretAccessKey")},
                   secret{token.empty() ? value("Token") : token}}},
                 value("Expiration"), source);
}

issued_credentials issued_in_xml(std::string_view text, const std::string& source) {
  pugi::xml_document document;
  if (!document.load_buffer(text.data(), text.size()))
    refuse_issued(source, "no XML");
  const auto x = document.child("AssumeRoleWithWebIdentityResponse")
                     .child("AssumeRoleWithWebIdentityResult")
                     .child("Credentials");
  const auto value = [&](const char* name) { return x.child(name).text().get(); };
  return checked(
      {{value("AccessKeyId"), secret{value("SecretAccessKey")}, secret{value("SessionToken")}}},
      value("Expiration"), source);
}

std::optional<aws_issuer> find_aws_issuer(const variables& variable,
                                          const std::map<std::string, std::string>& profile,
                                          const std::string& region) {
  const auto token_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = variable("AWS_ROLE_ARN");
  if (!token_file.empty() && !role.empty()) {
    const auto name = variable("AWS_ROLE_SESSION_NAME");
    return web_identity(token_file, role, name.empty() ? "leat" : name, region,
                        variable("AWS_ENDPOINT_URL_STS"));
  }
  if (const auto process = profile.find("credential_process"); process != profile.end())
    return aws_issuer{"credential_process",
                      [command = process->second] {
                        return issued_in_json(output_of(command), "credential_process");
                      },
                      "process " + process->second};
  const auto full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const auto relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!full.empty() || !relative.empty())
    return container(relative.empty() ? full : "http://169.254.170.2" + relative,
                     variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                     variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  if (variable("AWS_EC2_METADATA_DISABLED") == "true")
    return {};
  return machine(variable("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
}

} // namespace leat
