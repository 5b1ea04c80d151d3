#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/certs/openssl.hpp"
#include "runtime/network/certs/peer_certificate.hpp"

#include <leat/certificates.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// What a process shows to others, and by which authority it judges them: `ca.pem`, `cert.pem` and
/// `key.pem` of a directory, read and found to be right. Any thread.
class certificates : not_copied {
public:
  /// Throws what `read_certificates` and `read_key` do, and `errc::invalid_argument`, which says
  /// what to do, if the certificate is not of this authority, is not valid at `now` (seconds since
  /// 1970), or does not name all roles.
  certificates(const std::string& directory, link_roles needed, std::int64_t now);

  /// What connections are made from; both ends of one may have it.
  SSL_CTX* context() const noexcept { return context_.get(); }
  link_roles roles() const noexcept { return roles_; }
  /// When the first of its certificates ends, in seconds since 1970.
  std::int64_t end() const noexcept { return end_; }

private:
  openssl_ptr<SSL_CTX> context_;
  link_roles roles_;
  std::int64_t end_ = 0;
};

/// Settings that hold for every connection: TLS 1.3 alone, both sides show a certificate, nothing
/// is resumed or sent early.
openssl_ptr<SSL_CTX> make_tls_context();

} // namespace leat
