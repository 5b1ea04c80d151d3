#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace leat {

/// Frees what OpenSSL has made.
struct openssl_free {
  void operator()(EVP_PKEY* x) const noexcept { EVP_PKEY_free(x); }
  void operator()(X509* x) const noexcept { X509_free(x); }
  void operator()(X509_EXTENSION* x) const noexcept { X509_EXTENSION_free(x); }
  void operator()(X509_STORE_CTX* x) const noexcept { X509_STORE_CTX_free(x); }
  void operator()(GENERAL_NAMES* x) const noexcept { GENERAL_NAMES_free(x); }
  void operator()(ASN1_INTEGER* x) const noexcept { ASN1_INTEGER_free(x); }
  void operator()(BIGNUM* x) const noexcept { BN_free(x); }
  void operator()(BIO* x) const noexcept { BIO_free_all(x); }
  void operator()(SSL_CTX* x) const noexcept { SSL_CTX_free(x); }
  void operator()(SSL* x) const noexcept { SSL_free(x); }
};

template <class T>
using openssl_ptr = std::unique_ptr<T, openssl_free>;

/// To be called before anything else of OpenSSL. If nobody else has begun it, it does not clean up
/// when the process exits: threads may still use it then.
void begin_openssl() noexcept;

/// The oldest error of this thread in OpenSSL's words, "no reason given" without one; forgets all.
std::string openssl_words();

/// Throws `errc::io` with OpenSSL's words unless `holds`: something that only fails without memory,
/// or where OpenSSL is set up badly.
void check_openssl(bool holds, const char* what);

} // namespace leat
