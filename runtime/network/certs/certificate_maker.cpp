#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/text.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/certs/certificate_files.hpp"
#include "runtime/network/certs/openssl.hpp"
#include "runtime/network/certs/peer_certificate.hpp"
#include "runtime/network/ip_address.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/certificates.hpp>
#include <leat/error.hpp>

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr long authority_days = 3653;
constexpr std::uint64_t most_days = 3650;
constexpr long clock_difference = 300;          // seconds
constexpr std::size_t longest_common_name = 64; // of a common name
constexpr mode_t certificate_directory_mode = 0700;
constexpr mode_t key_mode = 0600;

/// A certificate and its key.
struct identity {
  openssl_ptr<EVP_PKEY> key;
  openssl_ptr<X509> certificate;
};

void extend(X509& to, const X509& issuer, int what, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, const_cast<X509*>(&issuer), &to, nullptr, nullptr, 0); // NOLINT
  const openssl_ptr<X509_EXTENSION> made{
      X509V3_EXT_conf_nid(nullptr, &context, what, text.c_str())};
  check_openssl(made && X509_add_ext(&to, made.get(), -1) == 1, "an extension of a certificate");
}

void set_serial(X509& to) {
  std::array<unsigned char, 16> bytes{};
  check_openssl(RAND_bytes(bytes.data(), bytes.size()) == 1, "random numbers");
  bytes[0] &= 0x7f; // positive
  const openssl_ptr<BIGNUM> number{BN_bin2bn(bytes.data(), bytes.size(), nullptr)};
  check_openssl(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&to)),
                "a certificate's number");
}

/// With a key of its own, and without extensions and signature.
identity begin_identity(const std::string& name, long seconds) {
  begin_openssl();
  identity x{openssl_ptr<EVP_PKEY>{EVP_EC_gen("P-256")}, openssl_ptr<X509>{X509_new()}};
  check_openssl(x.key && x.certificate, "a new key");
  auto* const to = x.certificate.get();
  set_serial(*to);
  auto* const subject = X509_get_subject_name(to);
  check_openssl(
      X509_set_version(to, X509_VERSION_3) == 1
          && X509_gmtime_adj(X509_getm_notBefore(to), -clock_difference)
          && X509_gmtime_adj(X509_getm_notAfter(to), seconds)
          && X509_set_pubkey(to, x.key.get()) == 1
          && X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                        reinterpret_cast<const unsigned char*>(name.data()),
                                        static_cast<int>(name.size()), -1, 0)
                 == 1,
      "a new certificate");
  return x;
}

void sign(X509& x, const X509& issuer, EVP_PKEY& key) {
  check_openssl(X509_set_issuer_name(&x, X509_get_subject_name(&issuer)) == 1
                    && X509_sign(&x, &key, EVP_sha256()) > 0,
                "a signature");
}

identity make_authority() {
  auto x = begin_identity("leat certificate authority", authority_days * seconds_per_day);
  auto& ca = *x.certificate;
  extend(ca, ca, NID_subject_key_identifier, "hash");
  extend(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign");
  sign(ca, ca, *x.key);
  return x;
}

bool is_dialed(const certificate_options& x) {
  return std::any_of(x.roles.begin(), x.roles.end(), [](link_role role) {
    return role == link_role::coordinator || role == link_role::rank;
  });
}

/// "URI:leat:rank,DNS:node1,IP:10.0.0.5"
std::string names_of(const certificate_options& options) {
  const auto roles = listed(
      options.roles,
      [](link_role x) { return "URI:" + std::string{role_scheme} + std::string{to_string(x)}; },
      ",");
  return roles
         + listed(
             options.hosts,
             [](const std::string& x) {
               const auto host = parse_host(x, "host");
               return (parse_ip(host) ? ",IP:" : ",DNS:") + host;
             },
             "");
}

identity issue(const identity& by, const std::string& name, const certificate_options& options) {
  auto x = begin_identity(name, static_cast<long>(options.days) * seconds_per_day);
  const auto& issuer = *by.certificate;
  auto& leaf = *x.certificate;
  extend(leaf, issuer, NID_subject_key_identifier, "hash");
  extend(leaf, issuer, NID_authority_key_identifier, "keyid");
  extend(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(leaf, issuer, NID_key_usage, "critical,digitalSignature");
  extend(leaf, issuer, NID_ext_key_usage,
         is_dialed(options) ? "serverAuth,clientAuth" : "clientAuth");
  extend(leaf, issuer, NID_subject_alt_name, names_of(options));
  sign(leaf, issuer, *by.key);
  return x;
}

std::string_view bytes_in_memory(BIO& x) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(&x, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

void write_key(const fs::path& file, const EVP_PKEY& key) {
  const openssl_ptr<BIO> text{BIO_new(BIO_s_secmem())};
  check_openssl(
      text
          && PEM_write_bio_PKCS8PrivateKey(text.get(), &key, nullptr, nullptr, 0, nullptr, nullptr)
                 == 1,
      "the text of a key");
  write_durably(file, bytes_in_memory(*text), key_mode);
}

void write_certificate(const fs::path& file, const X509& x) {
  const openssl_ptr<BIO> text{BIO_new(BIO_s_mem())};
  check_openssl(text && PEM_write_bio_X509(text.get(), &x) == 1, "the text of a certificate");
  write_durably(file, bytes_in_memory(*text));
}

void check_name(const std::string& name) {
  const auto fits = [](char x) { return is_word_char(x) || x == '-' || x == '.'; };
  if (name.empty() || name.size() > longest_common_name || name.front() == '.'
      || !std::all_of(name.begin(), name.end(), fits))
    refuse_argument("name", excerpt(name),
                    "1 to 64 letters, digits, \"-\", \"_\" and \".\", and no dot in front");
}

void check_options(const certificate_options& x) {
  if (x.roles.empty())
    refuse_argument("role", "no role",
                    listed(all_link_roles, [](link_role role) { return to_string(role); }));
  if (x.days < 1 || x.days > most_days)
    refuse_argument("days", std::to_string(x.days), "1 to " + std::to_string(most_days) + " days");
}

/// A certificate is not valid for longer than its issuer.
void check_end(const X509& authority, std::uint64_t days, const std::string& file) {
  const auto end = end_of(authority);
  if (std::time(nullptr) + static_cast<std::int64_t>(days) * seconds_per_day > end)
    throw_file_error(errc::invalid_argument, "certs", file,
                     "an authority whose validity ends on " + utc_text(end),
                     "fewer days than it has left, or a new authority (leat certs init)");
}

identity read_authority(const fs::path& directory) {
  const auto file = (directory / "ca.pem").string();
  if (std::error_code unknown; !fs::exists(file, unknown))
    throw_file_error(errc::not_found, "certs", file, "no authority",
                     "the directory of one (leat certs init makes it)");
  auto all = read_certificates(file);
  return {read_key((directory / "ca-key.pem").string(), *all.front()), std::move(all.front())};
}

} // namespace

void make_certificate_authority(const std::string& directory) {
  const fs::path at{directory};
  make_directory_durably(at, certificate_directory_mode);
  const auto x = make_authority();
  for (const char* file : {"ca.pem", "ca-key.pem"})
    if (std::error_code unknown;
        fs::symlink_status(at / file, unknown).type() != fs::file_type::not_found)
      throw_file_error(
          errc::invalid_argument, "certs", (at / file).string(),
          "an authority that is there already",
          "another directory: certificates of the old one would not be of the new one");
  write_key(at / "ca-key.pem", *x.key);
  write_certificate(at / "ca.pem", *x.certificate);
}

void issue_certificate(const std::string& directory, const std::string& name,
                       const certificate_options& options) {
  check_name(name);
  check_options(options);
  const fs::path at{directory};
  const auto authority = read_authority(at);
  check_end(*authority.certificate, options.days, (at / "ca.pem").string());
  const auto made = issue(authority, name, options);
  make_directory_durably(at / name, certificate_directory_mode);
  // A process that looks in between finds a key that does not fit, and keeps what it has.
  write_certificate(at / name / "ca.pem", *authority.certificate);
  write_key(at / name / "key.pem", *made.key);
  write_certificate(at / name / "cert.pem", *made.certificate);
}

} // namespace leat
