#include "runtime/network/certs/certificate_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/error.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <array>
#include <utility>

namespace leat {

namespace {

constexpr auto certificate_stage = "certificates";
constexpr std::size_t largest_certificate_file = 256 << 10;

openssl_ptr<BIO> reader_of(std::string_view bytes) {
  openssl_ptr<BIO> reader{BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size()))};
  check_openssl(reader != nullptr, "memory for a certificate");
  return reader;
}

/// Asked for a passphrase, which nobody is there to type.
int no_passphrase(char*, int, int, void* is_asked) {
  *static_cast<bool*>(is_asked) = true;
  return -1;
}

std::string mode_text(mode_t mode) {
  std::array<char, 5> digits{'0'};
  for (int i = 1; i <= 3; ++i)
    digits[static_cast<std::size_t>(i)] = static_cast<char>('0' + (mode >> (9 - 3 * i) & 7));
  return {digits.data(), 4};
}

/// The key's bytes. The descriptor that was looked at is the one that is read.
secret read_private(const std::string& file) {
  const auto opened_file = file_descriptor::open(file);
  struct stat status {};
  if (::fstat(opened_file.get(), &status) != 0)
    throw_errno(certificate_stage, file, "a key whose mode can be read");
  if ((status.st_mode & S_IRWXO) != 0)
    refuse_certificate(file,
                       "a private key that all users of this machine may open (mode "
                           + mode_text(status.st_mode) + ")",
                       "one that is its user's own (chmod o= " + file
                           + "); if others may have read it, a new one");
  std::array<char, 64 << 10> bytes; // NOLINT: filled below
  const auto size = read_at(opened_file, file, 0, std::as_writable_bytes(std::span{bytes}));
  secret key{{bytes.data(), size}};
  wipe(bytes.data(), bytes.size());
  return key;
}

} // namespace

void refuse_certificate(const std::string& file, std::string got, std::string needed) {
  throw_file_error(errc::invalid_argument, certificate_stage, file, std::move(got),
                   std::move(needed));
}

std::vector<openssl_ptr<X509>> read_certificates(const std::string& file) {
  begin_openssl();
  const auto text = read_whole_file(file, largest_certificate_file, certificate_stage);
  const auto reader = reader_of(text);
  std::vector<openssl_ptr<X509>> all;
  while (openssl_ptr<X509> x{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)})
    all.push_back(std::move(x));
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const auto words = openssl_words();
  if (all.empty() || !is_at_end)
    refuse_certificate(file, "something other than certificates: " + words,
                       "certificates in PEM form, as leat certs issue writes them");
  return all;
}

openssl_ptr<EVP_PKEY> read_key(const std::string& file, const X509& owner) {
  begin_openssl();
  const auto text = read_private(file);
  bool is_asked = false;
  openssl_ptr<EVP_PKEY> key{
      PEM_read_bio_PrivateKey(reader_of(text.reveal()).get(), nullptr, no_passphrase, &is_asked)};
  const auto words = openssl_words();
  if (!key)
    refuse_certificate(file,
                       is_asked ? "a private key with a passphrase" : "no private key: " + words,
                       is_asked ? "one without: nobody is there to type it"
                                : "a private key in PEM form, as leat certs issue writes it");
  const bool fits = X509_check_private_key(&owner, key.get()) == 1;
  ERR_clear_error();
  if (!fits)
    refuse_certificate(file, "a private key that does not fit the certificate beside it",
                       "the key that the certificate was issued with");
  return key;
}

} // namespace leat
