#pragma once

#include "runtime/storage/remote/bearer_signer.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// For errors: what reads gs://.
inline constexpr auto gs_stage = "gs";

/// What a service account's tokens can do. What other tokens can, somebody else has decided.
enum class google_access : std::uint8_t { read, write };

/// Who issues tokens of Google's, and for whom.
struct google_identity {
  token_issuer issuer;
  /// The project that pays, if the file of credentials names one.
  std::string project = {};
};

/// By the file of credentials that GOOGLE_APPLICATION_CREDENTIALS names, or else
/// `gcloud auth application-default login` has left (a service account's key, or a user's refresh
/// token); or else the metadata service of the machine (GCE_METADATA_HOST), unless NO_GCE_CHECK is
/// "true". Nothing if none of these is left. Throws `errc::invalid_argument` for a file of another
/// kind, and what reading it throws.
std::optional<google_identity>
find_google_identity(const std::function<std::string(const char*)>& variable,
                     google_access to = google_access::read);

/// Reads such a file's content. `name`: of the file, for errors.
google_identity identity_in_json(std::string_view text, const std::string& name,
                                 google_access to = google_access::read);

/// Reads the JSON that token services answer: access_token, expires_in. `time`: of this machine, in
/// seconds since 1970. Throws `errc::io` with `source`.
issued<secret> token_in_json(std::string_view text, const std::string& source, std::int64_t time);

} // namespace leat
