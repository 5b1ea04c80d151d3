#include "runtime/network/links/server_tls.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/network/links/tls_session.hpp"

#include <openssl/err.h>

namespace leat {

namespace {

/// Asked for a key's passphrase: without this, OpenSSL would wait at the terminal for it.
int no_server_passphrase(char*, int, int, void*) {
  return -1;
}

} // namespace

struct server_tls::state {
  tls_session session;
  byte_buffer out = {};
};

server_trust::server_trust(const char* stage, const std::string& name, const files& from) {
  const auto refuse = [&](const char* what, const std::string& file, const char* needed) {
    throw_file_error(errc::invalid_argument, stage, name,
                     std::string{what} + '=' + excerpt(file) + ": " + openssl_words(), needed);
  };
  begin_openssl();
  ERR_clear_error();
  context_.reset(SSL_CTX_new(TLS_client_method()));
  auto* const to = context_.get();
  check_openssl(to && SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION) == 1, "TLS to a server");
  SSL_CTX_set_options(to, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(to, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(to, no_server_passphrase);
  if ((from.authorities.empty()
           ? SSL_CTX_set_default_verify_paths(to)
           : SSL_CTX_load_verify_locations(to, from.authorities.c_str(), nullptr))
      != 1)
    refuse("ca", from.authorities, "a file of certificates of authorities in PEM");
  if (from.certificate.empty() != from.key.empty())
    throw_file_error(
        errc::invalid_argument, stage, name,
        from.key.empty() ? "cert= without key=" : "key= without cert=", "both, or neither");
  if (from.certificate.empty())
    return;
  if (SSL_CTX_use_certificate_chain_file(to, from.certificate.c_str()) != 1)
    refuse("cert", from.certificate, "a certificate in PEM, and those of its issuers");
  if (SSL_CTX_use_PrivateKey_file(to, from.key.c_str(), SSL_FILETYPE_PEM) != 1
      || SSL_CTX_check_private_key(to) != 1) // one of another algorithm is taken, and never shown
    refuse("key", from.key, "the certificate's key in PEM, without a password");
}

server_tls::server_tls(const std::shared_ptr<const server_trust>& by, const std::string& host)
    : state_(new state{.session = {by, by->context(), host}}) {}

server_tls::~server_tls() = default;

bool server_tls::shake_hands(std::string_view& came) {
  return state_->session.shake_hands(came, state_->out);
}

std::size_t server_tls::read(std::string_view& came, std::span<char> into) {
  return state_->session.read(came, into, state_->out);
}

void server_tls::write(std::string_view bytes) {
  state_->session.write(bytes, state_->out);
}

std::string_view server_tls::unsent() const noexcept {
  return {state_->out.data(), state_->out.size()};
}

void server_tls::sent(std::size_t bytes) noexcept {
  state_->out.erase(state_->out.begin(), state_->out.begin() + static_cast<std::ptrdiff_t>(bytes));
}

} // namespace leat
