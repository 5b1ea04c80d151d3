#include "runtime/network/certs/openssl.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <openssl/err.h>

namespace leat {

void begin_openssl() noexcept {
  static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  (void)once;
}

std::string openssl_words() {
  const auto code = ERR_get_error();
  const char* words = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return words ? words : "no reason given";
}

void check_openssl(bool holds, const char* what) {
  if (!holds)
    throw_error(errc::io, "certificates", std::string{what} + ": " + openssl_words(),
                "an OpenSSL that can do this");
}

} // namespace leat
