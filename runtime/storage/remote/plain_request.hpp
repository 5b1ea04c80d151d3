#pragma once

#include <leat/secret.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace leat {

/// A small request to a service that says who this process is.
struct plain_request {
  std::string url;
  /// Lines "name: value".
  std::vector<std::string> headers = {};
  std::string method = "GET";
  /// For POST: percent-encoded parameters.
  secret body = {};
  /// For errors.
  std::string stage = "s3";
  /// For services of this machine or its network, whose answers no proxy is to see.
  bool is_direct = false;
  /// For all of it.
  std::chrono::milliseconds timeout = std::chrono::seconds{5};
  /// For the connection, a part of it.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds{5};
  /// For errors: what to do.
  std::string needed = "credentials from this service";
};

/// The body of the answer, of at most 256 KB. Throws `errc::io` for an answer whose status is not
/// 200, and for none; the error shows neither headers nor the query, and of the body one word at
/// most: a JSON object's "error". Blocks; any thread.
std::string ask(const plain_request& x);

} // namespace leat
