#pragma once

#include "runtime/storage/remote/aws/aws_signature.hpp"
#include "runtime/storage/remote/credential_keeper.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

using issued_credentials = issued<aws_credentials>;
using aws_issuer = issuer_of<aws_credentials>;
using aws_keeper = credential_keeper<aws_credentials>;

/// Whom to ask for credentials, as Amazon's own tools would: by AWS_WEB_IDENTITY_TOKEN_FILE and
/// AWS_ROLE_ARN (a pod's role), the profile's `credential_process`,
/// AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI (a container's role), or else the metadata
/// service of the machine, unless AWS_EC2_METADATA_DISABLED is "true". Nothing if none of these is
/// left.
std::optional<aws_issuer> find_aws_issuer(const std::function<std::string(const char*)>& variable,
                                          const std::map<std::string, std::string>& profile,
                                          const std::string& region);

/// Reads the JSON that programs and services print: AccessKeyId, SecretAccessKey, SessionToken or
/// Token, Expiration. Throws `errc::io` with `source`.
issued_credentials issued_in_json(std::string_view text, const std::string& source);
/// Reads what the service AssumeRoleWithWebIdentity answers.
issued_credentials issued_in_xml(std::string_view text, const std::string& source);

/// "2026-11-28T13:05:09Z" in seconds since 1970; with a fraction and an offset if there are any.
std::optional<std::int64_t> seconds_of_time(std::string_view text);

} // namespace leat
