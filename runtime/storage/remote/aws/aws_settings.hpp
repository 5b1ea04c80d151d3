#pragma once

#include "runtime/storage/remote/aws/aws_issuer.hpp"

#include <leat/remote_options.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// How S3 is reached, as Amazon's own tools read it from the environment and from their files.
struct aws_settings {
  std::string region = {};
  /// "https://HOST:PORT" of a service that is like Amazon's; empty: Amazon's own.
  std::string endpoint = {};
  std::optional<aws_credentials> credentials = {};
  /// Who issues credentials, if there are none. Without both, requests are not signed.
  std::optional<aws_issuer> issuer = {};
  /// Where the credentials come from, for errors; or where they were looked for.
  std::string source = {};
  bucket_place bucket_in = bucket_place::automatic;
  bool requester_pays = false;
};

/// The lines of one section of such a file, "[NAME]" or "[profile NAME]": what stands left and
/// right of their "=". Lines that are indented belong to others and are left out.
std::map<std::string, std::string> aws_profile(std::string_view file, std::string_view name);

/// Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or else the profile
/// AWS_PROFILE ("default") in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and AWS_CONFIG_FILE
/// (~/.aws/config), or else what find_aws_issuer() finds; AWS_REGION, AWS_DEFAULT_REGION;
/// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL. `variable` gives the value of a variable of the
/// environment, empty if it is not set. What is `chosen` counts before all of these. Throws
/// `errc::invalid_argument` for what contradicts itself.
aws_settings read_aws_settings(const std::function<std::string(const char*)>& variable,
                               const remote_options& chosen = {});

/// Those of this process's environment.
aws_settings process_aws_settings(const remote_options& chosen = {});

} // namespace leat
