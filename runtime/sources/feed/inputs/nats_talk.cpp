#include "runtime/sources/feed/inputs/nats_talk.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/sources/feed/inputs/nats_answers.hpp"

#include <atomic>
#include <random>

namespace leat {

namespace {

/// For an answer that the server gives at once.
constexpr std::chrono::seconds nats_patience{30};
constexpr auto nats_login_form =
    "nats://USER:PASSWORD@HOST/STREAM or nats://TOKEN@HOST/STREAM, or NATS_USER and NATS_PASSWORD "
    "in the environment";
constexpr unsigned nats_unavailable = 503;
constexpr unsigned first_nats_server_fault = 500;

nats_talk::time_point nats_end() {
  return std::chrono::steady_clock::now() + nats_patience;
}

/// Of the text of an error: no other try with this user would be better.
bool has_refused(std::string_view text) {
  return text.find("Authorization") != text.npos || text.find("Authentication") != text.npos
         || text.find("Permissions") != text.npos;
}

std::string in_json(std::string_view text) {
  return '"' + json_escaped(text) + '"';
}

} // namespace

void nats_talk::greet(const nats_login& as, const std::shared_ptr<const server_trust>& tls) {
  const auto hello = read(nats_end());
  const auto server = nats_server_of(hello.payload);
  if (hello.is != nats_message::kind::info || !server)
    refuse("an answer that is not NATS's protocol", "a NATS server at this address");
  if (!tls && server->asks_for_tls)
    refuse("a server that asks for TLS", "tls:// in the address, in place of nats://");
  if (tls && !server->has_tls)
    refuse("a server without TLS",
           "one with it, which does not expect it before its own first words (handshake_first); or "
           "nats:// in the address");
  if (tls)
    on_.secure(tls);
  if (!server->has_stream_storage)
    refuse("a server without JetStream", "nats-server -js");
  if (server->asks_for_key && as.user.is_empty())
    refuse("a server that asks for a signature by a key", nats_login_form);
  std::string text = R"(CONNECT {"verbose":false,"pedantic":false,"headers":true,)"
                     R"("no_responders":true,"lang":"leat","version":"1","protocol":1)";
  if (!as.password.is_empty())
    text +=
        R"(,"user":)" + in_json(as.user.reveal()) + R"(,"pass":)" + in_json(as.password.reveal());
  else if (!as.user.is_empty())
    text += R"(,"auth_token":)" + in_json(as.user.reveal());
  text += "}\r\nPING\r\nSUB ";
  text += inbox_;
  text += ".> 1\r\n";
  on_.send(text);
  wipe(text.data(), text.size());
  while (read(nats_end()).is != nats_message::kind::pong) {
  }
}

void nats_talk::send(std::string_view subject, std::uint64_t number, std::string_view payload) {
  on_.send(nats_publication(subject, inbox(number), payload));
}

std::optional<std::string> nats_talk::ask(std::string_view subject, std::string_view payload,
                                          unsigned but) {
  const auto number = next_nats_number();
  const auto to = inbox(number);
  send(subject, number, payload);
  const auto end = nats_end();
  for (;;) {
    const auto x = next(end);
    if (!x)
      throw queue_lost("no answer for "
                       + counted(static_cast<std::uint64_t>(nats_patience.count()), "second"));
    if (x->subject != to)
      continue;
    if (x->status() == nats_unavailable)
      throw queue_lost("a server whose JetStream does not answer");
    const auto fault = x->payload.empty() ? std::nullopt : nats_fault_of(x->payload);
    if (!fault)
      return std::string{x->payload};
    if (fault->code != 0 && fault->code == but)
      return std::nullopt;
    if (fault->code >= first_nats_server_fault)
      throw queue_lost(as_utf8(fault->text));
    refuse("the server's answer " + excerpt(fault->text) + " to " + std::string{subject},
           "a stream of this name, and a user who may use it");
  }
}

std::optional<nats_message> nats_talk::next(time_point end) {
  for (;;) {
    const auto x = read_until(end);
    if (!x || x->is == nats_message::kind::message)
      return x;
  }
}

nats_message nats_talk::read(time_point end) {
  const auto x = read_until(end);
  if (!x)
    throw queue_lost("no answer for "
                     + counted(static_cast<std::uint64_t>(nats_patience.count()), "second"));
  return *x;
}

std::optional<nats_message> nats_talk::read_until(time_point end) {
  for (std::size_t wants = 1;;) {
    if (on_.unread().size() >= wants) {
      const auto x = read_nats_message(on_.unread());
      if (x.now == nats_read::state::wrong)
        refuse("bytes that are not NATS's protocol, or a message that is too large",
               "a NATS server at this address");
      if (x.now == nats_read::state::whole) {
        on_.take(x.size);
        if (x.message.is == nats_message::kind::ping)
          on_.send("PONG\r\n");
        if (x.message.is != nats_message::kind::error)
          return x.message;
        if (has_refused(x.message.payload))
          refuse("a server that refuses this user", nats_login_form);
        throw queue_lost(as_utf8(std::string{x.message.payload}));
      }
      wants = x.size;
    }
    if (!on_.receive(end))
      return std::nullopt;
  }
}

void nats_talk::refuse(std::string got, std::string needed) const {
  throw_file_error(errc::io, "feed's input", name_, std::move(got), std::move(needed));
}

std::uint64_t next_nats_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::string new_nats_inbox() {
  std::random_device random;
  std::string text = "_INBOX.leat";
  for (int i = 0; i < 4; ++i)
    text += '-' + std::to_string(random());
  return text;
}

} // namespace leat
