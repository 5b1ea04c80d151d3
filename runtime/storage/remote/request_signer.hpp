#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Shows a server who asks. Any thread.
class request_signer : not_copied {
public:
  virtual ~request_signer() = default;

  /// Headers of a GET of this URL at this time (seconds since 1970).
  virtual std::vector<std::string> headers_for(std::string_view url, std::int64_t time) const = 0;
  enum class answer : std::uint8_t {
    give_up,
    ask_again,
    /// Once there are other credentials, which somebody else is asked for.
    ask_later,
  };
  /// The server refused a request with this code of its service, at this time of its own, or 0, and
  /// of this machine.
  virtual answer refused(std::string_view code, std::int64_t server_time, std::int64_t time) = 0;
  /// For errors: what to do about a refusal.
  virtual std::string advice() const = 0;
};

} // namespace leat
