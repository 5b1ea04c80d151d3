#pragma once

#include "runtime/network/certs/certificate_files.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/network_link.hpp"

// What attackers of a coordinator's port know and count.

namespace leat::test {

/// What real processes have sent to the coordinator, from their first byte on, as a link sees it;
/// and, if asked for, faults in what is on its way.
class recorded_sessions {
public:
  explicit recorded_sessions(std::uint64_t seed) : random_(seed) {}

  network_link::touch_bytes touch() {
    return [this](std::uint64_t connection, bool is_to_server, std::string& bytes) {
      const std::lock_guard lock{mutex_};
      if (is_to_server)
        record(connection, bytes);
      if (faults_per_1000_ > random_() % 1000)
        bytes[random_() % bytes.size()] ^= static_cast<char>(1U << random_() % 8);
    };
  }
  /// So many of 1000 pieces get a flipped bit from now on.
  void flip(unsigned per_1000) {
    const std::lock_guard lock{mutex_};
    faults_per_1000_ = per_1000;
  }
  /// Empty if there is none.
  std::string any(std::uint64_t number) const {
    const std::lock_guard lock{mutex_};
    if (sessions_.empty())
      return {};
    return std::next(sessions_.begin(), static_cast<long>(number % sessions_.size()))->second;
  }

private:
  void record(std::uint64_t connection, const std::string& bytes) {
    constexpr std::size_t most_sessions = 16;
    constexpr std::size_t most_bytes = 64 << 10;
    auto& session = sessions_[connection];
    session += bytes.substr(0, most_bytes - std::min(most_bytes, session.size()));
    if (sessions_.size() > most_sessions)
      sessions_.erase(sessions_.begin());
  }

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  unsigned faults_per_1000_ = 0;
  std::map<std::uint64_t, std::string> sessions_;
};

/// Contexts of those whom nobody should take: without a certificate, with one of another authority,
/// expired, not valid yet, of another role, signed by a leaf or by itself, for servers alone, and
/// with TLS 1.2.
class strange_contexts {
public:
  explicit strange_contexts(const link_site& site) {
    const auto authority = std::move(read_certificates(site.at / "ca.pem").front());
    const auto add = [&](const odd_certificate* own, int version = TLS1_3_VERSION) {
      all_.push_back(odd_context(authority.get(), own, version));
    };
    odd_certificate ca;
    ca.certificate = std::move(read_certificates(site.at / "ca.pem").front());
    ca.key = read_key(site.at / "ca-key.pem", *ca.certificate);
    const auto right = identity_in(site.issue("right", {link_role::rank}));
    const link_site other;
    const auto foreign = identity_in(other.issue("rank", {link_role::rank}));
    const auto observer = identity_in(site.issue("watcher", {link_role::observer}));
    const auto past = make_odd(&ca, {.from = -2000, .to = -1000});
    const auto future = make_odd(&ca, {.from = 1000, .to = 2000});
    const auto of_leaf = make_odd(&right, {});
    const auto own = make_odd(nullptr, {});
    const auto server = make_odd(&ca, {.usage = "serverAuth"});
    const auto none = make_odd(&ca, {.names = ""});
    add(nullptr);
    for (const auto* x : {&foreign, &past, &future, &observer, &of_leaf, &own, &server, &none})
      add(x);
    add(&right, TLS1_2_VERSION);
    right_ = odd_context(authority.get(), &right);
  }

  SSL_CTX& any(std::uint64_t number) const { return *all_[number % all_.size()]; }
  /// With a rank's certificate.
  SSL_CTX& right() const { return *right_; }

private:
  static odd_certificate identity_in(const std::string& directory) {
    odd_certificate x;
    x.certificate = std::move(read_certificates(directory + "/cert.pem").front());
    x.key = read_key(directory + "/key.pem", *x.certificate);
    return x;
  }

  std::vector<openssl_ptr<SSL_CTX>> all_;
  openssl_ptr<SSL_CTX> right_;
};

/// Whom all attackers attack. Outlives them.
struct attacked_port {
  std::uint16_t port = 0;
  /// Null: it has no certificates.
  const link_site* site = nullptr;
  const recorded_sessions& sessions;
  /// How long a connection may last that has to end.
  std::chrono::milliseconds patience{5'000};

  std::optional<strange_contexts> strange = {};
  std::shared_ptr<const certificates> rank = {};
  std::shared_ptr<const certificates> worker = {};
  std::shared_ptr<const certificates> observer = {};

  /// Should be 0.
  std::atomic<std::uint64_t> strangers_admitted{0};
  std::atomic<std::uint64_t> attacks{0};
  std::atomic<std::uint64_t> members{0};

  /// Somebody who should have been cut off in time; by what he did.
  void tell_uncut(const std::string& way) {
    const std::lock_guard lock{mutex};
    not_cut_off += way + "; ";
  }
  /// The job is: whoever is still open then belongs to a port that is closed.
  std::atomic<bool> is_over = false;
  std::mutex mutex;
  std::string not_cut_off;

  attacked_port(std::uint16_t at, const link_site* of, const recorded_sessions& all)
      : port(at), site(of), sessions(all) {
    if (!site)
      return;
    strange.emplace(*site);
    rank = site->make(link_role::rank);
    worker = site->make(link_role::worker);
    observer = site->make(link_role::observer);
  }
};

} // namespace leat::test
