#include "runtime/network/links/tls_session.hpp"

#include "runtime/network/links/link_error.hpp"

#include <openssl/err.h>

#include <cstring>
#include <new>
#include <utility>

namespace leat {

namespace {

/// A key of AES-GCM is good for 2^24.5 records of 16 KiB (RFC 8446, 5.5), four times as much.
constexpr std::uint64_t bytes_per_key = std::uint64_t{64} << 30;
/// Messages of TLS that a peer may send after the handshake, and the bytes that entitle it to one
/// more.
constexpr std::uint64_t free_messages = 16;
constexpr std::uint64_t bytes_per_message = std::uint64_t{1} << 30;

} // namespace

/// What OpenSSL takes for its socket.
struct tls_session::memory_bio {
  static int read(BIO* bio, char* to, int size) noexcept {
    auto& session = of(bio);
    BIO_clear_retry_flags(bio);
    if (session.is_flooded_)
      return -1;
    if (!session.came_ || session.came_->empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const auto taken = session.came_->copy(to, static_cast<std::size_t>(size));
    session.came_->remove_prefix(taken);
    return static_cast<int>(taken);
  }

  static int write(BIO* bio, const char* bytes, int size) noexcept {
    BIO_clear_retry_flags(bio);
    auto* const out = of(bio).out_;
    if (!out)
      return -1;
    try {
      out->insert(out->end(), bytes, bytes + size);
    } catch (const std::bad_alloc&) { // not through OpenSSL
      return -1;
    }
    return size;
  }

  static long control(BIO*, int command, long, void*) noexcept {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static tls_session& of(BIO* bio) noexcept {
    return *static_cast<tls_session*>(BIO_get_data(bio));
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const one = [] {
      auto* const x = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "leat");
      if (x) {
        BIO_meth_set_read(x, read);
        BIO_meth_set_write(x, write);
        BIO_meth_set_ctrl(x, control);
      }
      return x;
    }();
    return one;
  }
};

/// Shows OpenSSL a caller's bytes for as long as this lives.
class tls_session::call {
public:
  call(tls_session& of, std::string_view* came, byte_buffer& out) noexcept : of_(of) {
    of_.came_ = came;
    of_.out_ = &out;
    ERR_clear_error(); // what others have left in this thread
  }
  ~call() {
    of_.came_ = nullptr;
    of_.out_ = nullptr;
  }
  call(const call&) = delete;
  call& operator=(const call&) = delete;

private:
  tls_session& of_;
};

tls_session::tls_session(const std::shared_ptr<const certificates>& own, link_side side)
    : tls_session(own, *own->context(), side, "the authority in ca.pem") {}

tls_session::tls_session(std::shared_ptr<const void> owner, SSL_CTX& context,
                         const std::string& host)
    : tls_session(std::move(owner), context, link_side::dials,
                  "an authority that is trusted here") {
  auto* const rules = SSL_get0_param(ssl_.get());
  const bool is_ip = X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1;
  ERR_clear_error();
  check_openssl(is_ip
                    || (X509_VERIFY_PARAM_set1_host(rules, host.c_str(), host.size()) == 1
                        && SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1),
                "a TLS session to a host of this name");
}

tls_session::tls_session(std::shared_ptr<const void> owner, SSL_CTX& context, link_side side,
                         const char* known_by)
    : owner_(std::move(owner)), known_by_(known_by), ssl_(SSL_new(&context)) {
  auto* const method = memory_bio::method();
  auto* const bio = ssl_ && method ? BIO_new(method) : nullptr;
  check_openssl(bio != nullptr, "a TLS session");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_msg_callback(ssl_.get(), see_message);
  SSL_set_msg_callback_arg(ssl_.get(), this);
  if (side == link_side::accepts)
    SSL_set_accept_state(ssl_.get());
  else
    SSL_set_connect_state(ssl_.get());
}

void tls_session::see_message(int is_sent, int, int type, const void*, std::size_t, SSL*,
                              void* of) noexcept {
  auto& session = *static_cast<tls_session*>(of);
  if (is_sent == 0 && type == SSL3_RT_HANDSHAKE && session.is_ready_
      && ++session.messages_ > free_messages + session.received_ / bytes_per_message)
    session.is_flooded_ = true;
}

void tls_session::fail() {
  if (is_flooded_)
    break_link("a flood of key updates", "a peer that renews its keys when they are used up");
  const auto verdict = SSL_get_verify_result(ssl_.get());
  const auto words = openssl_words();
  if (!is_ready_ && verdict != X509_V_OK)
    break_link(std::string{"TLS: "} + X509_verify_cert_error_string(verdict),
               std::string{"a certificate of "} + known_by_ + " that is valid now");
  break_link("TLS: " + words, "a peer with a certificate of the same authority");
}

bool tls_session::shake_hands(std::string_view& came, byte_buffer& out) {
  if (is_ready_)
    return true;
  const call shown{*this, &came, out};
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1)
    is_ready_ = true;
  else if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ)
    fail();
  return is_ready_;
}

std::size_t tls_session::read(std::string_view& came, std::span<char> into, byte_buffer& out) {
  const call shown{*this, &came, out};
  std::size_t size = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &size);
  received_ += size;
  if (result == 1)
    return size;
  const int problem = SSL_get_error(ssl_.get(), result);
  if (problem == SSL_ERROR_ZERO_RETURN)
    break_link("the peer has ended the connection", "one that lasts");
  if (problem != SSL_ERROR_WANT_READ || is_flooded_)
    fail();
  return 0;
}

void tls_session::write(std::string_view bytes, byte_buffer& out) {
  const call shown{*this, nullptr, out};
  while (!bytes.empty()) {
    if (sent_ >= bytes_per_key) {
      sent_ = 0;
      if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        fail();
    }
    std::size_t size = 0;
    if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &size) != 1)
      fail();
    bytes.remove_prefix(size);
    sent_ += size;
  }
}

const X509* tls_session::peer() const noexcept {
  return is_ready_ ? SSL_get0_peer_certificate(ssl_.get()) : nullptr;
}

} // namespace leat
