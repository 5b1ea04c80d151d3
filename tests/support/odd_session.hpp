#pragma once

#include "runtime/network/certs/openssl.hpp"
#include "tests/support/standard.hpp"

namespace leat::test {

/// OpenSSL over memory, as a stranger would use it.
class odd_session {
public:
  explicit odd_session(SSL_CTX& context) : ssl_(SSL_new(&context)) {
    SSL_set_bio(ssl_.get(), in_ = BIO_new(BIO_s_mem()), out_ = BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_connect_state(ssl_.get());
  }

  SSL* ssl() { return ssl_.get(); }
  int shake() { return SSL_do_handshake(ssl_.get()); }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void give(std::span<const char> x) { BIO_write(in_, x.data(), static_cast<int>(x.size())); }

private:
  openssl_ptr<SSL> ssl_;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

} // namespace leat::test
