#pragma once

#include "runtime/cluster/message_codec.hpp"
#include "tests/support/attacked_port.hpp"
#include "tests/support/odd_session.hpp"
#include "tests/support/sanitized.hpp"

// What somebody may do to a coordinator's port: strangers, who are never admitted, and members with
// a right certificate and token who do not keep to the rules, and are cut off.

namespace leat::test {

/// A right member's token.
inline constexpr auto right_token = "secret";

/// Somebody with a socket of his own who attacks at random. One thread.
class attacker {
public:
  using clock = std::chrono::steady_clock;

  attacker(attacked_port& on, std::uint64_t seed) : on_(on), random_(seed) {}

  /// Takes at most some seconds.
  void attack() {
    using way = void (attacker::*)();
    static constexpr std::array<way, 12> plain{
        &attacker::say_noise,    &attacker::say_noise,     &attacker::say_words,
        &attacker::say_words,    &attacker::promise,       &attacker::change_hello,
        &attacker::change_hello, &attacker::shake_hands,   &attacker::replay,
        &attacker::be_silent,    &attacker::come_as_other, &attacker::break_rules};
    static constexpr std::array<way, 7> secured{&attacker::show_strange, &attacker::show_strange,
                                                &attacker::talk_inside,  &attacker::talk_inside,
                                                &attacker::shake_hands,  &attacker::replay,
                                                &attacker::renew_keys};
    const auto draw = random_() % (on_.site ? plain.size() + secured.size() : plain.size());
    ++on_.attacks;
    way_ = "way " + std::to_string(draw);
    if (random_() % 100 == 0)
      read_nothing();
    else if (random_() % 200 == 0)
      flood();
    else
      (this->*(draw < plain.size() ? plain[draw] : secured[draw - plain.size()]))();
  }

  /// Looks who was cut off, and lets the slow ones say one byte more.
  void look() {
    std::erase_if(open_, [&](visitor& x) {
      std::array<char, 4096> bytes; // NOLINT: filled below
      auto n = ::recv(x.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      while (n > 0)
        n = ::recv(x.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n == 0 || errno != EAGAIN)
        return true;
      if (!x.later.empty() && clock::now() > x.spoke + std::chrono::milliseconds{50}) {
        send_some(x.socket, x.later.substr(0, 1));
        x.later.erase(0, 1);
        x.spoke = clock::now();
      }
      const bool is_late = clock::now() > x.since + on_.patience;
      if (is_late)
        on_.tell_uncut(x.way);
      return is_late;
    });
  }
  std::size_t number_open() const { return open_.size(); }

private:
  struct visitor {
    file_descriptor socket;
    std::string way;
    clock::time_point since = clock::now();
    /// Said one byte at a time.
    std::string later = {};
    clock::time_point spoke = {};
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  std::string noise(std::size_t size) {
    std::string text(size, '\0');
    for (auto& byte : text)
      byte = static_cast<char>(random_());
    return text;
  }
  /// Flips, cuts, doubles or inserts.
  std::string changed(std::string x) {
    for (auto n = 1 + below(3); n > 0 && !x.empty(); --n) {
      const auto at = below(x.size());
      switch (below(4)) {
      case 0:
        x[at] ^= static_cast<char>(1U << below(8));
        break;
      case 1:
        x.resize(at);
        break;
      case 2:
        x.insert(at, x.substr(at, below(64)));
        break;
      default:
        x.insert(at, noise(1 + below(40)));
      }
    }
    return x;
  }

  static std::string frame_of(std::uint32_t kind, std::string_view body,
                              std::optional<std::uint32_t> length = {}) {
    const auto head = bytes_of(frame_header{
        .length = length.value_or(static_cast<std::uint32_t>(body.size())), .kind = kind});
    return std::string{head.data(), head.size()} + std::string{body};
  }
  static std::string frame_of(frame_kind kind, std::string_view body) {
    return frame_of(static_cast<std::uint32_t>(kind), body);
  }
  static link_hello hello(const std::string& token, link_role role = link_role::rank) {
    return {.role = role, .token = secret{token}};
  }

  static bool send_some(const file_descriptor& to, std::string_view bytes) {
    return ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0
           || errno == EAGAIN;
  }
  file_descriptor connect() const {
    try {
      return connect_here(on_.port);
    } catch (const std::runtime_error&) { // the job is over
      return {};
    }
  }
  /// Says something on a new connection. Most stay, until they are cut off.
  void say(const std::string& bytes, const std::string& later = {}) {
    auto socket = connect();
    if (!socket)
      return;
    send_some(socket, bytes);
    if (below(4) > 0)
      stay(std::move(socket), later);
  }
  void stay(file_descriptor socket, const std::string& later = {}) {
    if (socket)
      open_.push_back({.socket = std::move(socket), .way = way_, .later = later});
  }

  // -- strangers

  void say_noise() { say(noise(below(20'000))); }
  void say_words() {
    static const std::array<std::string, 6> all{
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        std::string("\0\0\0\0\0\0\0\x08", 8) + std::string(24, '\1'), // CAF's own protocol
        std::string("\x15\x03\x03\0\x02\x02\x28", 7),                 // an alert of TLS
        std::string("\x14\x03\x03\0\x01\x01", 6),
        std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11)};
    say(all[below(all.size())] + noise(below(600)));
  }
  /// A frame, of which not everything comes.
  void promise() {
    const std::array<std::uint32_t, 6> kinds{1, 2, 16, 17, 30, UINT32_MAX};
    const std::array<std::uint32_t, 5> lengths{8192, 8193, 1 << 20, INT32_MAX, UINT32_MAX};
    say(frame_of(kinds[below(kinds.size())], noise(below(9000)), lengths[below(lengths.size())]));
  }
  /// A hello that is not right, or comes slowly, or is followed by other words.
  void change_hello() {
    const auto wrong = frame_of(frame_kind::hello, encode(hello("wrong!")));
    switch (below(4)) {
    case 0:
      return say(wrong);
    case 1:
      return say(changed(wrong));
    case 2:
      return say({}, wrong);
    default: // in plain words where TLS is spoken
      const auto right = frame_of(frame_kind::hello, encode(hello(right_token)));
      return say(right.substr(0, on_.site ? right.size() : below(right.size() - 1)));
    }
  }
  void be_silent() { say({}); }
  /// Many at a time that say nothing, or little.
  void flood() {
    for (auto n = 100 + below(400); n > 0; --n) {
      auto socket = connect();
      if (socket && below(2) == 0)
        send_some(socket, "\x16\x03\x01");
      stay(std::move(socket));
    }
  }
  /// The first words of TLS, mostly changed.
  void shake_hands() {
    const auto context = on_.site ? nullptr : odd_context(nullptr, nullptr);
    odd_session session{on_.site ? on_.strange->any(random_()) : *context};
    session.shake();
    const auto bytes = session.take();
    if (below(4) == 0)
      return say(bytes.substr(0, below(12)), bytes.substr(12));
    say(below(3) == 0 ? bytes : changed(bytes));
  }
  /// What a real rank has said before. Without certificates its hello is right, and is not said
  /// wholly: whoever reads the network knows the token.
  void replay() {
    auto bytes = on_.sessions.any(random_());
    if (bytes.size() < 2 * header_bytes)
      return;
    if (!on_.site) {
      const auto hello_ends = header_bytes + header_at(bytes.data()).length;
      if (bytes.size() < hello_ends || below(2) == 0)
        return say(bytes.substr(0, below(std::min(hello_ends, bytes.size()) - 1)));
      return say(bytes.substr(0, hello_ends) + bytes.substr(0, 1 + below(hello_ends)));
    }
    switch (below(4)) {
    case 0:
      return say(bytes);
    case 1:
      return say(bytes + bytes);
    case 2:
      return say(bytes.substr(0, below(bytes.size())));
    default:
      return say(changed(bytes));
    }
  }
  /// In leat's own words, as one that is not admitted.
  void come_as_other() {
    dial_wish wish{.to = {"127.0.0.1", on_.port}, .own = on_.rank, .hello = hello(right_token)};
    switch (below(on_.site ? 5 : 3)) {
    case 0:
      wish.hello.token = secret{std::string(below(8000), 's')};
      break;
    case 1:
      wish.hello.role = link_role::coordinator;
      wish.own = below(2) == 0 ? on_.worker : on_.rank;
      if (on_.site && below(2) == 0) { // a worker may look, with a worker's certificate
        wish.hello.role = link_role::worker;
        wish.own = on_.rank;
      }
      break;
    case 2:
      wish.hello.least_protocol = wish.hello.protocol = newest_link_protocol + 1;
      break;
    case 3:
      wish.own = below(2) == 0 ? on_.worker : on_.observer;
      break;
    default:
      wish.own = nullptr;
    }
    try {
      dial_peer(wish, nullptr);
      ++on_.strangers_admitted;
    } catch (const error&) { // as it should be
    }
  }

  // -- with TLS

  /// A session over a socket.
  class visit {
  public:
    visit(SSL_CTX& context, file_descriptor socket)
        : session_(context), socket_(std::move(socket)) {}

    SSL* ssl() { return session_.ssl(); }
    bool shake() {
      for (int i = 0; i < 6; ++i) {
        const bool is_over = session_.shake() == 1;
        if (!flush())
          return false;
        if (is_over)
          return true;
        if (!receive())
          return false;
      }
      return false;
    }
    bool say(const std::string& bytes) {
      return SSL_write(ssl(), bytes.data(), static_cast<int>(bytes.size())) > 0 && flush();
    }
    bool flush() { return send_some(socket_, session_.take()); }
    /// What comes first; empty if the connection ends.
    std::string hear() {
      std::string text(4096, '\0');
      for (int i = 0; i < 6; ++i) {
        const int n = SSL_read(ssl(), text.data(), static_cast<int>(text.size()));
        if (n > 0)
          return text.substr(0, static_cast<std::size_t>(n));
        if (SSL_get_error(ssl(), n) != SSL_ERROR_WANT_READ || !receive())
          break;
      }
      return {};
    }
    file_descriptor release() { return std::move(socket_); }

  private:
    bool receive() {
      pollfd x{socket_.get(), POLLIN, 0};
      if (::poll(&x, 1, 6000) != 1)
        return false;
      std::array<char, 16 << 10> bytes; // NOLINT: filled below
      const auto n = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0)
        session_.give({bytes.data(), static_cast<std::size_t>(n)});
      return n > 0;
    }

    odd_session session_;
    file_descriptor socket_;
  };

  static bool is_welcome(const std::string& heard) {
    return heard.size() >= header_bytes
           && header_at(heard.data()).kind == static_cast<std::uint32_t>(frame_kind::welcome);
  }

  void show_strange() {
    auto socket = connect();
    if (!socket)
      return;
    visit one{on_.strange->any(random_()), std::move(socket)};
    if (one.shake() && one.say(frame_of(frame_kind::hello, encode(hello(right_token)))))
      on_.strangers_admitted += is_welcome(one.hear()) ? 1 : 0;
    stay(one.release());
  }
  /// With a right certificate, and wrong words.
  void talk_inside() {
    auto socket = connect();
    if (!socket)
      return;
    visit one{on_.strange->right(), std::move(socket)};
    if (!one.shake())
      return;
    const auto right = frame_of(frame_kind::hello, encode(hello(right_token)));
    const std::array<std::string, 5> words{noise(1 + below(16'000)), frame_of(1U, {}, 1 << 30),
                                           frame_of(frame_kind::hello, encode(hello("secre"))),
                                           right + right.substr(0, 5),
                                           right.substr(0, right.size() - 1)};
    one.say(words[below(words.size())]);
    on_.strangers_admitted += is_welcome(one.hear()) ? 1 : 0;
    stay(one.release());
  }

  // -- members

  std::optional<connected_peer> enter(link_role role) {
    try {
      auto peer = dial_peer({.to = {"127.0.0.1", on_.port},
                             .own = role == link_role::rank ? on_.rank : on_.observer,
                             .hello = hello(right_token, role)},
                            nullptr);
      ++on_.members;
      return peer;
    } catch (const error&) { // too many others, or the job is over
      return std::nullopt;
    }
  }
  /// A rank that the job does not have: the coordinator tells it so whenever it is asked.
  static cluster_hello foreign_rank(const incarnation& who) {
    return {.version = own_version(),
            .token = right_token,
            .who = who,
            .host_name = "odd",
            .rank = 99,
            .rules = {.world_size = 2},
            .beat_ns = 100'000'000};
  }
  static std::string beat(const incarnation& who, std::uint64_t number) {
    return frame_of(frame_kind::beat, encode(cluster_beat{.number = number, .who = who}));
  }

  /// One frame that it may not say.
  void break_rules() {
    const auto role = below(4) == 0 ? link_role::observer : link_role::rank;
    auto peer = enter(role);
    if (!peer)
      return;
    const auto one = static_cast<std::uint32_t>(below(40));
    std::string words;
    const auto fault = below(6);
    way_ = "broken rule " + std::to_string(fault);
    switch (fault) {
    case 0:
      words = frame_of(one < 16 || (one > 18 && one != 20) ? one : 999, noise(below(100)));
      break;
    case 1:
      words = frame_of(16 + one % 3, {}, 5'000'000) + noise(1000);
      break;
    case 2:
      words = frame_of(frame_kind::beat, "\xff\xff" + noise(100));
      break;
    case 3: // 24 bytes of memory for each 2
      for (int i = 0; i < 1 << 19; ++i)
        words += std::string("\x62\0", 2);
      words = frame_of(frame_kind::join, words);
      break;
    case 4:
      words = frame_of(frame_kind::word, encode(cluster_word{}));
      break;
    default:
      words = frame_of(role == link_role::rank ? frame_kind::look : frame_kind::join, {});
    }
    write(*peer, words, within(on_.patience));
    stay(std::move(peer->socket));
  }
  /// False if the connection has ended.
  static bool write(connected_peer& to, std::string_view words, clock::time_point deadline) {
    byte_buffer out;
    to.layer->write(words, out);
    for (std::string_view left{out.data(), out.size()}; !left.empty();) {
      const auto n = ::send(to.socket.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN)
        return false;
      left.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
      pollfd x{to.socket.get(), POLLOUT, 0};
      if (clock::now() > deadline || ::poll(&x, 1, 1000) < 0)
        return true;
    }
    return true;
  }
  /// Asks on and on, at once or as fast as it would be answered, and reads no answer.
  void read_nothing() {
    const auto role = below(2) == 0 ? link_role::observer : link_role::rank;
    auto peer = enter(role);
    if (!peer)
      return;
    const int few = 4096;
    ::setsockopt(peer->socket.get(), SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
    const auto end = within(4 * on_.patience);
    const incarnation who{.high = random_(), .low = random_()};
    if (role == link_role::rank)
      write(*peer, frame_of(frame_kind::join, encode(foreign_rank(who))), end);
    const bool is_flood = below(2) == 0;
    std::uint64_t number = 0;
    bool is_open = true;
    while (is_open && !on_.is_over && clock::now() < end) {
      std::string words;
      for (int i = 0; i < (is_flood ? 2000 : 16); ++i) {
        ++number;
        words += role == link_role::rank ? beat(who, number) : frame_of(frame_kind::look, {});
      }
      is_open = write(*peer, words, end);
      if (!is_flood)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    // Answers to an observer have 500 bytes and more, a rank's words have few; kernels keep some
    // MB. With a sanitizer a coordinator may not have heard by then what kernels keep for it.
    const std::uint64_t more_than_fits =
        role == link_role::observer && !sanitized ? 20'000 : 300'000;
    if (is_open && !on_.is_over && number > more_than_fits)
      on_.tell_uncut((role == link_role::rank ? "a rank" : "an observer")
                     + std::string{" that reads nothing, after "} + std::to_string(number)
                     + " words");
  }
  /// Renews its keys again and again.
  void renew_keys() {
    auto socket = connect();
    if (!socket)
      return;
    visit one{on_.strange->right(), std::move(socket)};
    if (!one.shake() || !one.say(frame_of(frame_kind::hello, encode(hello(right_token))))
        || !is_welcome(one.hear()))
      return;
    ++on_.members;
    for (int i = 0; i < 200; ++i)
      if (SSL_key_update(one.ssl(), SSL_KEY_UPDATE_REQUESTED) != 1
          || SSL_do_handshake(one.ssl()) != 1 || !one.flush())
        break;
    stay(one.release());
  }

  attacked_port& on_;
  std::mt19937_64 random_;
  std::vector<visitor> open_;
  /// What it does now, for texts.
  std::string way_;
};

} // namespace leat::test
