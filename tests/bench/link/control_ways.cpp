#include "tests/bench/link/control_ways.hpp"

#include "actors/caf/link.hpp"
#include "actors/caf/network_system.hpp"
#include "runtime/cluster/message_codec.hpp"
#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "runtime/network/socket_address.hpp"
#include "tests/bench/harness.hpp"
#include "tests/bench/link/basp.hpp"
#include "tests/bench/link/row_ways.hpp"

#include <caf/all.hpp>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace leat::bench {

namespace {

constexpr std::uint64_t messages = 30'000;
/// Between two answers; two such batches are on their way.
constexpr std::uint64_t batch = 500;
constexpr std::size_t message_bytes = 1000;

/// How many answers have come.
class answer_count {
public:
  void add() {
    const std::lock_guard lock{mutex_};
    ++number_;
    changed_.notify_one();
  }
  void wait_for(std::uint64_t number) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, std::chrono::seconds{30}, [&] { return number_ >= number; }))
      throw std::runtime_error("no answer has come");
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t number_ = 0;
};

/// Answers each beat, and each batch of parts.
coordinator_actor::behavior_type answerer(coordinator_actor::pointer self) {
  const auto answer = [self](std::uint64_t number) {
    self->send(caf::actor_cast<member_actor>(self->current_sender()), cluster_word{.echo = number});
  };
  return {[](const cluster_hello&) {},
          [answer](const cluster_beat& x) { answer(x.number); },
          [answer, n = std::uint64_t{0}](const cluster_part&) mutable {
            if (++n % batch == 0)
              answer(n);
          },
          [](stored_atom, std::uint64_t, std::uint64_t, const std::string&) {},
          [](tick_atom) {},
          [](look_atom, const std::string&) { return cluster_status{}; }};
}

member_actor::behavior_type listener(member_actor::pointer, answer_count* answers) {
  return {[answers](const cluster_word&) { answers->add(); }, [](say_atom) {}, [](tick_atom) {}};
}

/// The coordinator's side, until the process ends.
void listen_for_links(const std::string& certificates, const part_line& other) {
  auto& network = *new network_system;
  const logger_release released;
  const auto handle = network.system().spawn(answerer);
  guard_config config{.at = parse_ip("127.0.0.1").value(),
                      .certificates =
                          certificates_in(certificates.empty() ? "" : certificates + "/coordinator",
                                          {link_role::coordinator})};
  config.rules.roles = {link_role::rank};
  auto& guard = *new port_guard{std::move(config)};
  guard.begin([&network, handle](connected_peer peer) {
    const logger_release released_here;
    link_to_peer(network.system(), std::move(peer), handle, secret{}, {});
  });
  other.say(guard.port());
}

/// A rank's side, until the process ends.
struct linked_rank {
  linked_rank(const std::string& certificates, const part_line& other)
      : port(static_cast<std::uint16_t>(other.hear())) {
    const logger_release released;
    dial_wish wish{.to = {"127.0.0.1", port}};
    if (!certificates.empty())
      wish.own = certificates_in(certificates + "/rank", {link_role::rank})->now();
    wish.hello.role = link_role::rank;
    const auto local = network.system().spawn(listener, &answers);
    link = link_to_coordinator(network.system(), dial_peer(wish, nullptr), local, link_role::rank);
  }

  /// Of so many round trips, a millisecond apart.
  trip_times measure_trips(std::size_t number) {
    const logger_release released;
    std::vector<double> all;
    for (std::size_t i = 0; i < number; ++i) {
      all.push_back(1e6 * seconds_of([&] {
                      caf::anon_send(link, cluster_beat{.number = ++sent});
                      answers.wait_for(sent);
                    }));
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    std::sort(all.begin(), all.end());
    return {all[number / 2], all[number * 99 / 100]};
  }

  const std::uint16_t port;
  network_system& network = *new network_system;
  answer_count answers;
  coordinator_actor link;
  std::uint64_t sent = 0;
};

/// Sends all messages, in batches; `send` sends one of these bytes.
template <class Send>
double seconds_of_messages(answer_count& answers, Send send) {
  const auto begin = process_seconds();
  for (std::uint64_t i = 0; i < messages; ++i) {
    if (i % batch == 0 && i > batch)
      answers.wait_for(i / batch - 1);
    send(std::string(message_bytes, 'x'));
  }
  answers.wait_for(messages / batch);
  return process_seconds() - begin;
}

/// Seconds of both sides for a message.
double message_seconds(const forked_part& receiver, const forked_part& sender) {
  const auto found = run_parts(
      [&](const part_line& line) {
        receiver(line);
        line.hear(); // it is about to begin
        const auto begin = process_seconds();
        line.say(0);
        line.hear(); // all is there
        return std::vector<double>{process_seconds() - begin};
      },
      sender);
  return (found[0].at(0) + found[1].at(0)) / static_cast<double>(messages);
}

template <class Work>
std::vector<double> measured_beside(const part_line& line, Work work) {
  line.say(0);
  line.hear();
  const double seconds = work();
  line.say(0);
  return {seconds};
}

/// A connection to the port, in blocking mode.
file_descriptor connect_to(std::uint16_t port) {
  auto place = socket_address_of(parse_ip("127.0.0.1").value(), port);
  file_descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval patience{3, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), place.raw(), place.size) != 0)
    return {};
  return socket;
}

/// Makes handshakes that are refused.
class refused_handshakes {
public:
  refused_handshakes(std::uint16_t port, const std::string& others)
      : port_(port), context_(SSL_CTX_new(TLS_client_method())) {
    const auto directory = others + "/rank";
    if (SSL_CTX_use_certificate_chain_file(context_, (directory + "/cert.pem").c_str()) != 1
        || SSL_CTX_use_PrivateKey_file(context_, (directory + "/key.pem").c_str(), SSL_FILETYPE_PEM)
               != 1)
      throw std::runtime_error("no certificate of others");
    for (auto& x : threads_)
      x = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
  }
  std::uint64_t number() const { return number_; }

private:
  static constexpr std::size_t at_once = 12;
  static constexpr std::chrono::milliseconds pause{1000 * at_once / 300};

  void run(const std::stop_token& stop) {
    for (auto next = std::chrono::steady_clock::now(); !stop.stop_requested(); next += pause) {
      std::this_thread::sleep_until(next);
      const auto socket = connect_to(port_);
      auto* const x = SSL_new(context_);
      SSL_set_fd(x, socket.get());
      char byte = 0;
      if (SSL_connect(x) == 1) // the server says afterwards that it does not like the certificate
        (void)SSL_read(x, &byte, 1);
      SSL_free(x);
      ++number_;
    }
  }

  const std::uint16_t port_;
  SSL_CTX* const context_;
  std::atomic<std::uint64_t> number_ = 0;
  std::array<std::jthread, at_once> threads_;
};

/// Connections that say nothing; counts those that are closed within some time.
double closed_half_open(std::uint16_t port) {
  constexpr std::size_t number = 1000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{5};
  std::vector<file_descriptor> all;
  std::vector<pollfd> polled;
  for (std::size_t i = 0; i < number; ++i) {
    all.push_back(connect_to(port));
    polled.push_back({all.back().get(), POLLIN, 0});
  }
  std::size_t closed = 0;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || closed == number
        || ::poll(polled.data(), polled.size(), static_cast<int>(left.count())) <= 0)
      return static_cast<double>(closed);
    for (auto& x : polled)
      if (x.revents != 0) {
        x.fd = -1;
        ++closed;
      }
  }
}

void run_rows(const forked_part& rows, int descriptor) {
  std::thread{[=] {
    try {
      rows(part_line{descriptor});
    } catch (const std::exception&) { // the other process has ended
    }
  }}.detach();
}

} // namespace

double link_message_seconds(const std::string& certificates) {
  return message_seconds(
      [&](const part_line& line) {
        listen_for_links(certificates, line);
        return std::vector<double>{};
      },
      [&](const part_line& line) {
        linked_rank rank{certificates, line};
        const logger_release released;
        return measured_beside(line, [&] {
          return seconds_of_messages(rank.answers, [&](std::string bytes) {
            caf::anon_send(rank.link, cluster_part{.bytes = std::move(bytes)});
          });
        });
      });
}

double basp_message_seconds(const std::string& certificates) {
  return message_seconds(
      [&](const part_line& line) {
        auto& system = basp_system(certificates, "rank");
        const auto source = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
          return {[self, n = std::uint64_t{0}](const std::string&, const caf::actor& to) mutable {
            if (++n % batch == 0)
              self->send(to, n);
          }};
        });
        line.say(basp_publish(system, source, certificates));
        return std::vector<double>{};
      },
      [&](const part_line& line) {
        auto& system = basp_system(certificates, "worker");
        answer_count answers;
        const auto far =
            basp_connect(system, static_cast<std::uint16_t>(line.hear()), certificates);
        const auto local = system.spawn([&answers](caf::event_based_actor*) -> caf::behavior {
          return {[&answers](std::uint64_t) { answers.add(); }};
        });
        return measured_beside(line, [&] {
          return seconds_of_messages(
              answers, [&](std::string bytes) { caf::anon_send(far, std::move(bytes), local); });
        });
      });
}

two_trips trips_beside_rows(const std::string& certificates) {
  int rows_line[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, rows_line) != 0)
    throw std::runtime_error("no pair of sockets");
  constexpr std::size_t trips = 300;
  const row_job rows{.certificates = certificates, .row_bytes = 4'000'000, .rows = 1'000'000};
  const auto found = run_parts(
      [&](const part_line& line) {
        listen_for_links(certificates, line);
        line.hear();
        run_rows([&](const part_line& x) { return take_rows(rows, x); }, rows_line[0]);
        line.hear();
        return std::vector<double>{0};
      },
      [&](const part_line& line) {
        linked_rank rank{certificates, line};
        const auto quiet = rank.measure_trips(trips);
        line.say(0);
        run_rows([&](const part_line& x) { return make_rows(rows, x); }, rows_line[1]);
        std::this_thread::sleep_for(std::chrono::milliseconds{300}); // they have begun
        const auto busy = rank.measure_trips(trips);
        line.say(0);
        return std::vector<double>{quiet.median, quiet.late, busy.median, busy.late};
      });
  ::close(rows_line[0]);
  ::close(rows_line[1]);
  const auto& x = found[1];
  return {.quiet = {x.at(0), x.at(1)}, .busy = {x.at(2), x.at(3)}};
}

stranger_trips trips_beside_strangers(const std::string& certificates, const std::string& others) {
  constexpr std::size_t trips = 1000;
  const auto found = run_parts(
      [&](const part_line& line) {
        listen_for_links(certificates, line);
        line.hear(); // strangers are about to come
        const auto before = resident_bytes();
        line.hear();
        return std::vector<double>{peak_bytes() - before};
      },
      [&](const part_line& line) {
        linked_rank rank{certificates, line};
        const auto quiet = rank.measure_trips(trips);
        line.say(0);
        double closed = 0;
        std::uint64_t refused = 0;
        trip_times busy;
        const auto seconds = seconds_of([&] {
          const refused_handshakes handshakes{rank.port, others};
          std::jthread half_open{[&] { closed = closed_half_open(rank.port); }};
          busy = rank.measure_trips(trips);
          half_open.join();
          refused = handshakes.number();
        });
        line.say(0);
        return std::vector<double>{quiet.median, quiet.late,
                                   busy.median,  busy.late,
                                   closed,       static_cast<double>(refused) / seconds};
      });
  const auto& x = found[1];
  return {.trips = {.quiet = {x.at(0), x.at(1)}, .busy = {x.at(2), x.at(3)}},
          .growth = found[0].at(0),
          .refused_per_second = x.at(5),
          .closed = x.at(4)};
}

} // namespace leat::bench
