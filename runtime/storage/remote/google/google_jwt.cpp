#include "runtime/storage/remote/google/google_jwt.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace leat {

namespace {

struct freeing {
  void operator()(BIO* x) const noexcept { ::BIO_free(x); }
  void operator()(EVP_PKEY* x) const noexcept { ::EVP_PKEY_free(x); }
  void operator()(EVP_MD_CTX* x) const noexcept { ::EVP_MD_CTX_free(x); }
};

/// For a key that is encrypted: there is nobody to ask.
int no_password(char*, int, int, void*) noexcept {
  return 0;
}

std::unique_ptr<EVP_PKEY, freeing> key_of(const secret& pem) {
  const auto text = pem.reveal();
  const std::unique_ptr<BIO, freeing> bytes{
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
  if (!bytes)
    throw std::bad_alloc{};
  std::unique_ptr<EVP_PKEY, freeing> key{
      ::PEM_read_bio_PrivateKey(bytes.get(), nullptr, &no_password, nullptr)};
  if (!key || ::EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA)
    throw_error(errc::invalid_argument, "gs", "a private key that is not one of RSA, in PEM",
                "the key of a service account, as Google's console gives it");
  return key;
}

} // namespace

std::string base64_url(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char x : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(x);
    held += 8;
    for (; held >= 6; held -= 6)
      text += digits[(bits >> (held - 6)) & 63];
  }
  if (held > 0)
    text += digits[(bits << (6 - held)) & 63];
  return text;
}

std::string signed_jwt(std::string_view header, std::string_view claims, const secret& key) {
  const auto by = key_of(key);
  auto text = base64_url(header) + "." + base64_url(claims);
  const std::unique_ptr<EVP_MD_CTX, freeing> context{::EVP_MD_CTX_new()};
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (!context
      || ::EVP_DigestSignInit(context.get(), nullptr, ::EVP_sha256(), nullptr, by.get()) != 1
      || ::EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    throw std::bad_alloc{};
  std::string signature(size, '\0');
  if (::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       bytes, text.size())
      != 1)
    throw std::bad_alloc{};
  signature.resize(size);
  return text + "." + base64_url(signature);
}

} // namespace leat
