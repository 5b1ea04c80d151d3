#pragma once

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
  /// For all of it.
  std::chrono::milliseconds timeout = std::chrono::seconds{5};
};

/// The body of the answer, of at most 256 KB. Throws `errc::io` for an answer whose status is not
/// 200, and for none; the error shows neither headers nor the query. Blocks; any thread.
std::string ask(const plain_request& x);

} // namespace leat
