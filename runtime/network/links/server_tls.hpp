#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/certs/openssl.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace leat {

class tls_session;

/// How servers that others run are known, and this process to them: TLS from version 1.2 on. A
/// server shows a certificate for its host. Any thread.
class server_trust : not_copied {
public:
  struct files {
    /// The authorities that are trusted, in PEM; empty: OpenSSL knows where they are.
    std::string authorities = {};
    /// What a server that asks for a certificate is shown, and its key; empty: nothing.
    std::string certificate = {};
    std::string key = {};
  };
  /// `stage` and `name`: for errors. Throws `errc::invalid_argument` about a file.
  server_trust(const char* stage, const std::string& name, const files& from);

  SSL_CTX& context() const noexcept { return *context_; }

private:
  openssl_ptr<SSL_CTX> context_;
};

/// TLS to such a server, without a socket. For one thread. All calls throw `errc::cluster` where
/// the connection cannot go on.
class server_tls : not_copied {
public:
  /// `host`: a name or an IP address.
  server_tls(const std::shared_ptr<const server_trust>& by, const std::string& host);
  ~server_tls();

  /// Continues what has to come before the first byte, and returns whether it is over. Call it once
  /// with nothing that came. What is read of `came` is cut off.
  bool shake_hands(std::string_view& came);
  /// Puts what the server said into `into`; returns the number of bytes. 0: more must come.
  std::size_t read(std::string_view& came, std::span<char> into);
  void write(std::string_view bytes);

  /// What is to be sent.
  std::string_view unsent() const noexcept;
  /// The first of these bytes are sent.
  void sent(std::size_t bytes) noexcept;

private:
  struct state;
  const std::unique_ptr<state> state_;
};

} // namespace leat
