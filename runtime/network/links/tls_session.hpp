#pragma once

#include "runtime/network/certs/certificates.hpp"
#include "runtime/network/links/byte_layer.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace leat {

enum class link_side : std::uint8_t { accepts, dials };

/// TLS 1.3 with certificates of both sides, or TLS to a server that others run. Nothing is copied
/// between this and OpenSSL: it reads what came, and writes to what is to be sent. Handshakes do
/// not come again; a peer that renews keys more often than the data call for is cut off.
class tls_session final : public byte_layer {
public:
  /// Throws `errc::io` without memory.
  tls_session(const std::shared_ptr<const certificates>& own, link_side side);
  /// Dials a server that has to show a certificate for `host`: a name or an IP address. `owner`
  /// has the context, which says what else holds.
  tls_session(std::shared_ptr<const void> owner, SSL_CTX& context, const std::string& host);

  bool shake_hands(std::string_view& came, byte_buffer& out) override;
  std::size_t read(std::string_view& came, std::span<char> into, byte_buffer& out) override;
  void write(std::string_view bytes, byte_buffer& out) override;
  const X509* peer() const noexcept override;

private:
  struct memory_bio;
  class call;

  static void see_message(int is_sent, int version, int type, const void* bytes, std::size_t size,
                          SSL* ssl, void* of) noexcept;
  [[noreturn]] void fail();

  tls_session(std::shared_ptr<const void> owner, SSL_CTX& context, link_side side,
              const char* known_by);

  /// Has the context.
  const std::shared_ptr<const void> owner_;
  /// What others' certificates are judged by, for texts.
  const char* const known_by_;
  openssl_ptr<SSL> ssl_;
  // During a call.
  std::string_view* came_ = nullptr;
  byte_buffer* out_ = nullptr;

  bool is_ready_ = false;
  bool is_flooded_ = false;
  /// Messages of TLS itself after the handshake, and the bytes that came beside them.
  std::uint64_t messages_ = 0;
  std::uint64_t received_ = 0;
  /// Since this side's key was new.
  std::uint64_t sent_ = 0;
};

} // namespace leat
