#pragma once

#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "runtime/network/links/waiting_link.hpp"
#include "runtime/network/socket_address.hpp"
#include "tests/support/odd_certificates.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <poll.h>
#include <sys/socket.h>

namespace leat::test {

inline std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline std::chrono::steady_clock::time_point within(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

inline constexpr std::chrono::seconds soon{20};

/// A directory with an authority and certificates of it.
struct link_site {
  link_site() { make_certificate_authority(at.path()); }

  std::string issue(const std::string& name, std::vector<link_role> roles,
                    std::vector<std::string> hosts = {}) const {
    issue_certificate(at.path(), name, {.roles = std::move(roles), .hosts = std::move(hosts)});
    return at / name;
  }
  std::shared_ptr<const certificates> make(link_role role) const {
    const std::string name{to_string(role)};
    return std::make_shared<certificates>(issue(name, {role}), role, seconds_now());
  }

  temporary_directory at;
};

/// What `certificates` would refuse to show to others.
inline openssl_ptr<SSL_CTX> odd_context(const X509* authority, const odd_certificate* own,
                                        int version = TLS1_3_VERSION) {
  openssl_ptr<SSL_CTX> x{SSL_CTX_new(TLS_method())};
  SSL_CTX_set_max_proto_version(x.get(), version);
  if (authority)
    X509_STORE_add_cert(SSL_CTX_get_cert_store(x.get()), const_cast<X509*>(authority));
  if (own) {
    SSL_CTX_use_certificate(x.get(), own->certificate.get());
    SSL_CTX_use_PrivateKey(x.get(), own->key.get());
  }
  return x;
}

/// A socket that is connected to a port of this machine.
inline file_descriptor connect_here(std::uint16_t port) {
  auto place = socket_address_of(parse_ip("127.0.0.1").value(), port);
  file_descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(socket.get(), place.raw(), place.size) != 0)
    throw std::runtime_error("no connection");
  return socket;
}

/// Waits for the peer's end; returns what came before it. Nothing if it has not ended by then.
inline std::optional<std::string> read_to_end(const file_descriptor& socket,
                                              std::chrono::milliseconds time = soon) {
  const auto end = within(time);
  std::string text;
  std::array<char, 4096> bytes{};
  for (;;) {
    pollfd x{socket.get(), POLLIN, 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (::poll(&x, 1, static_cast<int>(std::max<long>(0, left.count()))) <= 0)
      return std::nullopt;
    const auto n = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (n <= 0)
      return text;
    text.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

/// The peers that a guard has admitted.
class admitted_peers {
public:
  void add(connected_peer x) {
    const std::lock_guard lock{mutex_};
    all_.push_back(std::move(x));
    changed_.notify_all();
  }
  connected_peer next() {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, soon, [&] { return !all_.empty(); }))
      throw std::runtime_error("nobody was admitted");
    auto x = std::move(all_.front());
    all_.pop_front();
    return x;
  }
  std::size_t number() {
    const std::lock_guard lock{mutex_};
    return all_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<connected_peer> all_;
};

/// What a log has said.
class heard_lines {
public:
  std::function<void(const std::string&)> handler() {
    return [this](const std::string& line) {
      const std::lock_guard lock{mutex_};
      lines_.push_back(line);
      changed_.notify_all();
    };
  }
  /// Waits for a line with this part.
  bool wait(const std::string& part) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, soon, [&] {
      return std::any_of(lines_.begin(), lines_.end(),
                         [&](const auto& x) { return x.find(part) != x.npos; });
    });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

} // namespace leat::test
