#pragma once

#include "runtime/sources/feed/inputs/nats_messages.hpp"
#include "runtime/sources/feed/inputs/queue_connection.hpp"

#include <leat/secret.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Who connects. Without a password the user is a token.
struct nats_login {
  secret user = {};
  secret password = {};
};

/// Requests to a NATS server and what it sends, on one connection.
class nats_talk {
public:
  using time_point = queue_connection::time_point;

  /// `name`: the queue's, for errors. `inbox`: a subject that nobody else uses.
  nats_talk(queue_connection& on, const std::string& name, const std::string& inbox)
      : on_(on), name_(name), inbox_(inbox) {}

  /// The first words of a connection, with TLS after the server's if it is not null. Throws
  /// `queue_lost`, and `errc::io` where the server refuses.
  void greet(const nats_login& as, const std::shared_ptr<const server_trust>& tls = {});

  /// The answer to a request, which is not JSON of a fault unless its code is `but`. Nothing then.
  std::optional<std::string> ask(std::string_view subject, std::string_view payload,
                                 unsigned but = 0);
  /// Sends a message whose answers come to `inbox(number)`.
  void send(std::string_view subject, std::uint64_t number, std::string_view payload);
  void send_bytes(std::string_view bytes) { on_.send(bytes); }
  /// The next message to this inbox, which lives until the next call; those to others are passed
  /// over. A consumer's messages have subjects of their own, and come with its own answers.
  /// Nothing at `end`.
  std::optional<nats_message> next(time_point end);
  /// Where answers with this number come to.
  std::string inbox(std::uint64_t number) const { return inbox_ + '.' + std::to_string(number); }

  /// Throws `errc::io`: what the server has said, and what to do.
  [[noreturn]] void refuse(std::string got, std::string needed) const;

private:
  nats_message read(time_point end);
  std::optional<nats_message> read_until(time_point end);

  queue_connection& on_;
  const std::string& name_;
  const std::string& inbox_;
};

/// Counts requests on all connections, so that late answers are told from others.
std::uint64_t next_nats_number() noexcept;
/// A subject for the answers to one connection's requests.
std::string new_nats_inbox();

} // namespace leat
