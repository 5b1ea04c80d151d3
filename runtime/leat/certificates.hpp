#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// What a process may be in a job, as its certificate says. A certificate may name several.
enum class link_role : std::uint8_t { coordinator, rank, worker, observer, feed };

/// "coordinator", "rank", "worker", "observer", "feed"
LEAT_API std::string_view to_string(link_role x) noexcept;

/// The role of this name. Throws `errc::invalid_argument`.
LEAT_API link_role parse_link_role(std::string_view text);

/// What `issue_certificate` writes into a certificate.
struct certificate_options {
  /// At least one.
  std::vector<link_role> roles = {};
  /// Names and IP addresses under which others dial the process. Who dials it under another one
  /// refuses it; without any, whoever dials it knows it by its role alone.
  std::vector<std::string> hosts = {};
  /// How long it is valid: 1 to 3650. It begins to be 5 minutes ago, for clocks that differ.
  std::uint64_t days = 365;
};

/// Makes a certificate authority for one job or one site, valid for 10 years: writes `ca.pem`,
/// which everybody may have, and `ca-key.pem` (mode 0600), which stays where certificates are
/// issued. Makes the directory if it is not there (mode 0700). Throws `errc::invalid_argument` if
/// it has an authority, and `errc::io`.
LEAT_API void make_certificate_authority(const std::string& directory);

/// Issues a certificate of the authority in `directory`: writes `directory/name/` with `ca.pem`,
/// `cert.pem` and `key.pem` (mode 0600), which is all that a process needs. Files of that name are
/// replaced, which is how a certificate is renewed. `name` is 1 to 64 letters, digits, `-`, `_` and
/// `.`, and does not begin with a dot. Throws `errc::invalid_argument`, `errc::not_found` without
/// an authority, and `errc::io`.
LEAT_API void issue_certificate(const std::string& directory, const std::string& name,
                                const certificate_options& options);

} // namespace leat
