#pragma once

#include "runtime/base/secret.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Who asks a service of Amazon's, or one that is like it.
struct aws_credentials {
  std::string access_key;
  secret secret_key;
  /// For credentials that expire; otherwise empty.
  secret session_token = {};
};

/// A request as its signature covers it.
struct aws_request {
  std::string method = "GET";
  /// As the header Host has it.
  std::string host = {};
  /// Percent-encoded, from the first "/" on.
  std::string path = {};
  /// Percent-encoded parameters in the order of their names: "list-type=2&prefix=a".
  std::string query = {};
  /// Further headers that are signed, by their names in lower case.
  std::map<std::string, std::string> headers = {};
  /// SHA-256 of the body, in hexadecimal.
  std::string body_hash = "UNSIGNED-PAYLOAD";
};

/// The headers that a request needs besides its own so that S3 takes it: Signature Version 4, made
/// at this time (seconds since 1970).
/// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
std::vector<std::string> aws_signature(const aws_request& x, const aws_credentials& by,
                                       const std::string& region, std::int64_t time);

} // namespace leat
