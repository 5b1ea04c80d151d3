#pragma once

#include "runtime/network/certs/openssl.hpp"
#include "tests/support/files.hpp"
#include "tests/support/standard.hpp"

#include <openssl/pem.h>
#include <sys/stat.h>

// Certificates that leat does not issue: expired, of strange roles, signed by others.

namespace leat::test {

struct odd_certificate {
  openssl_ptr<EVP_PKEY> key;
  openssl_ptr<X509> certificate;
};

struct odd_wish {
  /// "URI:leat:rank,DNS:node1"; empty: none.
  std::string names = "URI:leat:rank";
  /// Seconds from now.
  long from = -300;
  long to = 86'400;
  bool is_authority = false;
  std::string usage = "serverAuth,clientAuth";
};

inline void extend(X509* to, X509* issuer, int what, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const openssl_ptr<X509_EXTENSION> x{X509V3_EXT_conf_nid(nullptr, &context, what, text.c_str())};
  if (!x || X509_add_ext(to, x.get(), -1) != 1)
    throw std::runtime_error("extension " + text);
}

/// Signed by `issuer`, or by itself if that is null.
inline odd_certificate make_odd(const odd_certificate* issuer, const odd_wish& wish) {
  static std::atomic<long> number{1000};
  odd_certificate x{openssl_ptr<EVP_PKEY>{EVP_EC_gen("P-256")}, openssl_ptr<X509>{X509_new()}};
  auto* to = x.certificate.get();
  auto* by = issuer ? issuer->certificate.get() : to;
  X509_set_version(to, 2);
  const auto name = "odd " + std::to_string(++number); // an issuer of the same name would be itself
  ASN1_INTEGER_set(X509_get_serialNumber(to), number);
  X509_gmtime_adj(X509_getm_notBefore(to), wish.from);
  X509_gmtime_adj(X509_getm_notAfter(to), wish.to);
  X509_set_pubkey(to, x.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(to), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(to, X509_get_subject_name(by));
  extend(to, by, NID_subject_key_identifier, "hash");
  extend(to, by, NID_basic_constraints,
         wish.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(to, by, NID_key_usage,
         wish.is_authority ? "critical,keyCertSign" : "critical,digitalSignature");
  if (!wish.is_authority)
    extend(to, by, NID_ext_key_usage, wish.usage);
  if (!wish.names.empty())
    extend(to, by, NID_subject_alt_name, wish.names);
  if (X509_sign(to, issuer ? issuer->key.get() : x.key.get(), EVP_sha256()) <= 0)
    throw std::runtime_error("no signature");
  return x;
}

inline std::string pem_of(const X509* x) {
  const openssl_ptr<BIO> text{BIO_new(BIO_s_mem())};
  PEM_write_bio_X509(text.get(), x);
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

inline std::string pem_of(const EVP_PKEY* x, const char* passphrase = nullptr) {
  const openssl_ptr<BIO> text{BIO_new(BIO_s_mem())};
  PEM_write_bio_PKCS8PrivateKey(text.get(), x, passphrase ? EVP_aes_128_cbc() : nullptr, nullptr, 0,
                                nullptr, const_cast<char*>(passphrase));
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Writes what `certificates` reads. `others` follow the certificate in its file.
inline void write_identity(const std::string& directory, const X509* authority,
                           const odd_certificate& own, const std::string& others = {}) {
  std::filesystem::create_directories(directory);
  for (const auto& [file, text] : {std::pair{"/ca.pem", pem_of(authority)},
                                   std::pair{"/cert.pem", pem_of(own.certificate.get()) + others},
                                   std::pair{"/key.pem", pem_of(own.key.get())}})
    write_content(directory + file, text);
  ::chmod((directory + "/key.pem").c_str(), 0600);
}

} // namespace leat::test
