#pragma once

#include "runtime/storage/remote/aws/s3_store.hpp"
#include "runtime/storage/remote/google/google_issuer.hpp"

#include <leat/remote_options.hpp>

#include <functional>
#include <string>

namespace leat {

/// Google's buckets, by the XML interface, which is that of S3. Who asks: the keys of the options
/// (HMAC), their token, GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY, or else whom
/// find_google_identity() finds; asks for a token where one is issued. An endpoint that is not
/// Google's, of the options or STORAGE_EMULATOR_HOST, gets keys and the options' token, but no
/// token of an identity. Blocks. Throws `errc::invalid_argument`, and what an issuer throws.
bucket_service find_google_service(const std::function<std::string(const char*)>& variable,
                                   const remote_options& chosen = {},
                                   google_access to = google_access::read);

/// By this process's environment.
bucket_service process_google_service(const remote_options& chosen,
                                      google_access to = google_access::read);

} // namespace leat
