#pragma once

#include <leat/secret.hpp>

#include <string>
#include <string_view>

namespace leat {

/// As it stands in URLs, without "=".
std::string base64_url(std::string_view bytes);

/// A JSON Web Token of this header and these claims, both JSON, signed RS256 (RFC 7518) by a
/// private key in PEM. Throws `errc::invalid_argument` for a key that is none.
std::string signed_jwt(std::string_view header, std::string_view claims, const secret& key);

} // namespace leat
