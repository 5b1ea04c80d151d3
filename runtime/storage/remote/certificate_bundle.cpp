#include "runtime/storage/remote/certificate_bundle.hpp"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace leat {

const char* certificate_bundle() noexcept {
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* value = std::getenv(name); value && *value) // NOLINT(concurrency-mt-unsafe)
      return value;
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (::access(file, R_OK) == 0)
      return file;
  return nullptr;
}

} // namespace leat
