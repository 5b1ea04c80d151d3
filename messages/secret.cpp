#include <leat/secret.hpp>

#include <cstring>

namespace leat {

secret::secret(std::string_view bytes)
    : bytes_(bytes.empty() ? nullptr : new char[bytes.size()]), size_(bytes.size()) {
  if (size_ > 0)
    std::memcpy(bytes_.get(), bytes.data(), size_);
}

secret::~secret() {
  if (size_ > 0)
    ::explicit_bzero(bytes_.get(), size_);
}

bool secret::is(std::string_view guess) const noexcept {
  // Reads as many bytes as the guess has, whatever they are; volatile, so that no compiler ends the
  // loop at the first difference.
  volatile unsigned difference = guess.size() == size_ ? 0 : 1;
  const char none = 0;
  const char* const mine = size_ > 0 ? bytes_.get() : &none;
  const std::size_t turn = size_ > 0 ? size_ : 1;
  for (std::size_t i = 0; i < guess.size(); ++i)
    difference = difference | static_cast<unsigned char>(guess[i] ^ mine[i % turn]);
  return difference == 0;
}

} // namespace leat
