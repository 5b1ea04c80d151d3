#include "runtime/network/certs/certificates.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/network/certs/certificate_files.hpp"

#include <leat/error.hpp>

#include <openssl/err.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

namespace leat {

namespace {

using certificate_list = std::vector<openssl_ptr<X509>>;

/// Bytes of the certificates that a peer sends.
constexpr long largest_chain = 16 << 10;
constexpr int deepest_chain = 3;

void trust(SSL_CTX& context, const std::string& file) {
  auto* const store = SSL_CTX_get_cert_store(&context);
  for (const auto& x : read_certificates(file)) {
    if (X509_check_ca(x.get()) == 0)
      refuse_certificate(file,
                         "the certificate " + name_of(*x) + ", which is not that of an authority",
                         "certificates of authorities alone");
    check_openssl(X509_STORE_add_cert(store, x.get()) == 1, "an authority");
  }
}

void show(SSL_CTX& context, const certificate_list& own, EVP_PKEY& key) {
  check_openssl(SSL_CTX_use_certificate(&context, own.front().get()) == 1
                    && SSL_CTX_use_PrivateKey(&context, &key) == 1,
                "a certificate and its key");
  for (auto x = own.begin() + 1; x != own.end(); ++x)
    check_openssl(SSL_CTX_add1_chain_cert(&context, x->get()) == 1, "a certificate's issuer");
}

/// Why others would refuse the certificate; X509_V_OK if they would not.
int fault_of(SSL_CTX& context, X509& own, std::int64_t now) {
  STACK_OF(X509)* chain = nullptr;
  const openssl_ptr<X509_STORE_CTX> check{X509_STORE_CTX_new()};
  check_openssl(
      SSL_CTX_get0_chain_certs(&context, &chain) == 1 && check
          && X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(&context), &own, chain) == 1,
      "a certificate's check");
  X509_STORE_CTX_set_time(check.get(), 0, static_cast<std::time_t>(now));
  const bool is_right = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return is_right ? X509_V_OK : X509_STORE_CTX_get_error(check.get());
}

void check_fault(int fault, const std::string& file, const X509& own) {
  const auto name = name_of(own);
  if (fault == X509_V_ERR_CERT_HAS_EXPIRED)
    refuse_certificate(file,
                       "the certificate " + name + ", or its issuer's, which has ended ("
                           + utc_text(end_of(own)) + ")",
                       "a new one: leat certs issue");
  if (fault == X509_V_ERR_CERT_NOT_YET_VALID)
    refuse_certificate(file, "the certificate " + name + ", which is not valid yet",
                       "a clock that is right on this machine, and on the one that issued it");
  if (fault != X509_V_OK)
    refuse_certificate(file,
                       "the certificate " + name + ", which is not of the authority in ca.pem: "
                           + X509_verify_cert_error_string(fault),
                       "cert.pem, key.pem and ca.pem as one call of leat certs issue wrote them");
}

} // namespace

openssl_ptr<SSL_CTX> make_tls_context() {
  begin_openssl();
  openssl_ptr<SSL_CTX> made{SSL_CTX_new(TLS_method())};
  auto* const to = made.get();
  check_openssl(to && SSL_CTX_set_min_proto_version(to, TLS1_3_VERSION) == 1
                    && SSL_CTX_set_max_proto_version(to, TLS1_3_VERSION) == 1
                    && SSL_CTX_set_ciphersuites(to, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384")
                           == 1
                    // Not the large groups of OpenSSL's own list, with which a stranger who has
                    // shown nothing yet would cost 20 ms.
                    && SSL_CTX_set1_groups_list(to, "X25519:P-256:P-384") == 1,
                "TLS 1.3");
  SSL_CTX_set_options(to, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(to, 0);
  SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(to, 0);
  SSL_CTX_set_recv_max_early_data(to, 0);
  SSL_CTX_set_mode(to, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                           | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_verify(to, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(to, deepest_chain);
  SSL_CTX_set_max_cert_list(to, largest_chain);
  return made;
}

certificates::certificates(const std::string& directory, link_roles needed, std::int64_t now)
    : context_(make_tls_context()) {
  const std::filesystem::path at{directory};
  const auto file = (at / "cert.pem").string();
  trust(*context_, (at / "ca.pem").string());
  const auto own = read_certificates(file);
  const auto key = read_key((at / "key.pem").string(), *own.front());
  show(*context_, own, *key);
  check_fault(fault_of(*context_, *own.front(), now), file, *own.front());
  roles_ = roles_of(*own.front());
  if (!roles_.has_all(needed))
    refuse_certificate(file, "a certificate whose roles are: " + to_string(roles_),
                       "one for this process: " + to_string(needed)
                           + " (leat certs issue, with --role for each)");
  end_ = end_of(*own.front());
  for (const auto& x : own)
    end_ = std::min(end_, end_of(*x));
}

} // namespace leat
