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
  /// Headers of a PUT of this URL, whose body has this SHA-256, in hexadecimal.
  virtual std::vector<std::string>
  headers_of_put(std::string_view url, const std::string& /*body_hash*/, std::int64_t time) const {
    return headers_for(url, time);
  }
  enum class answer : std::uint8_t {
    give_up,
    ask_again,
    /// Once there are other credentials, which somebody else is asked for.
    ask_later,
  };
  /// The server refused a request with this code of its service, or its status if it gave none, at
  /// this time of its own, or 0, and of this machine.
  virtual answer refused(std::string_view code, std::int64_t server_time, std::int64_t time) = 0;
  /// Whether requests may be sent on to where the server wants them, by https; `headers_for` knows
  /// who may see what.
  virtual bool follows_redirects() const noexcept { return false; }
  /// Whose requests they are: "the profile \"default\""; empty: nobody's.
  virtual std::string who() const = 0;
  /// For errors: what to do about a refusal.
  virtual std::string advice() const = 0;
};

} // namespace leat
