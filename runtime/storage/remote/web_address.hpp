#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// "https" of "https://host/x"; empty for a path, and for anything else that has no scheme.
std::string_view scheme_of(std::string_view name) noexcept;

/// A name as errors may show it: if it has a scheme, without what may be a secret in it, its user
/// and its query.
std::string without_secrets(const std::string& name);

/// Where only a path of this machine may stand: throws `errc::invalid_argument`, with this `stage`,
/// for a name that has a scheme.
void check_is_path(const std::string& name, const std::string& stage);

bool has_control_character(std::string_view text) noexcept;

/// With all characters percent-encoded that requests do not have as they are; a "/", too, unless it
/// is kept.
std::string percent_encoded(std::string_view text, bool keeps_slashes);

/// Without percent-encoding; nothing if a "%" has no two hexadecimal digits after it.
std::optional<std::string> percent_decoded(std::string_view text);

/// The address of an object on a web server. What is secret in such addresses (a user, a query that
/// signs them) is refused: pipelines, snapshots and errors show names.
class web_address {
public:
  enum class spelling : std::uint8_t {
    /// As people write it: spaces and other characters may be percent-encoded or not.
    written,
    /// As `name()` gives it.
    full,
  };

  /// Throws `errc::invalid_argument` with this `stage`.
  web_address(const std::string& name, const std::string& stage, spelling is = spelling::written);

  /// The name in the only form that leat uses for it: nothing in it is percent-encoded, so that it
  /// ends as the name of the same file on a disk does.
  const std::string& name() const noexcept { return name_; }
  /// "https://host:port": requests to one of these share connections.
  std::string_view server() const noexcept { return std::string_view{name_}.substr(0, path_); }
  /// For a request.
  std::string url() const;

private:
  std::string name_;
  /// Where the path begins, with its "/".
  std::size_t path_ = 0;
};

} // namespace leat
