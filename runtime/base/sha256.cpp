#include "runtime/base/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace leat {

std::string sha256_text(std::string_view bytes) {
  constexpr std::size_t size = 32;
  std::array<unsigned char, size> digest{};
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr)
      != 1)
    throw std::bad_alloc{};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const auto byte : digest)
    text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

} // namespace leat
