#include "runtime/sources/feed/inputs/redis_talk.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

#include <array>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_redis_reply_bytes = std::size_t{64} << 20;
/// For a reply that the server gives at once.
constexpr std::chrono::seconds redis_patience{30};

/// What may pass: the first words of such errors.
constexpr std::array<std::string_view, 9> passing_redis_errors{
    "LOADING",     "BUSY ",      "MASTERDOWN",
    "CLUSTERDOWN", "TRYAGAIN",   "READONLY",
    "MISCONF",     "NOREPLICAS", "ERR max number of clients"};

/// What an error of Redis takes to mend.
std::string mend_of(const redis_reply& x) {
  if (x.is_error("NOAUTH") || x.is_error("WRONGPASS") || x.is_error("ERR invalid password"))
    return "the password in the address (redis://USER:PASSWORD@HOST/STREAM) or in REDISCLI_AUTH";
  if (x.is_error("NOPERM"))
    return "a user who may use AUTH, SELECT, MULTI, EXEC, XACK, XGROUP, XINFO, XLEN, XPENDING, "
           "XRANGE, XREAD and XREADGROUP on this stream";
  if (x.is_error("WRONGTYPE"))
    return "the name of a stream";
  if (x.is_error("MOVED"))
    return "the address of the server of a cluster that has this stream";
  return "a Redis server from version 5 on";
}

} // namespace

redis_reply_too_large::redis_reply_too_large()
    : queue_lost("a reply of more than " + std::to_string(most_redis_reply_bytes) + " bytes") {}

redis_reply redis_talk::ask(const std::vector<std::string_view>& words,
                            std::chrono::milliseconds pause) {
  auto text = redis_command(words);
  on_.send(text);
  wipe(text.data(), text.size()); // there may be a password in it
  auto reply = read(pause);
  check(reply);
  return reply;
}

redis_reply redis_talk::demand(const std::vector<std::string_view>& words) {
  auto reply = ask(words);
  if (reply.is_error())
    refuse(reply);
  return reply;
}

std::vector<redis_reply>
redis_talk::demand_together(const std::vector<std::vector<std::string_view>>& commands) {
  auto text = redis_command({"MULTI"});
  for (const auto& x : commands)
    text += redis_command(x);
  text += redis_command({"EXEC"});
  on_.send(text);
  std::string refused;
  for (std::size_t i = 0; i <= commands.size(); ++i)
    if (const auto reply = read(); reply.is_error() && refused.empty())
      refused = reply.bytes;
  auto all = read();
  const redis_reply first{.is = redis_reply::kind::error, .bytes = refused};
  if (!refused.empty()) {
    check(first);
    refuse(first);
  }
  if (all.items.size() != commands.size())
    refuse("an answer to EXEC that is none", "a Redis server from version 5 on");
  for (const auto& x : all.items)
    if (x.is_error()) {
      check(x);
      // The stream was removed or has come back without its group: what to do with it is found out
      // by a connection's first steps.
      if (x.is_error("NOGROUP") || x.is_error("ERR no such key"))
        throw queue_lost(as_utf8(std::string{x.bytes}));
      refuse(x);
    }
  return std::move(all.items);
}

void redis_talk::refuse(std::string got, std::string needed) const {
  throw_file_error(errc::io, "feed's input", name_, std::move(got), std::move(needed));
}

void redis_talk::refuse(const redis_reply& x) const {
  refuse("the server's answer " + excerpt(x.bytes), mend_of(x));
}

redis_reply redis_talk::read(std::chrono::milliseconds pause) {
  const auto end = std::chrono::steady_clock::now() + redis_patience + pause;
  for (std::size_t wants = 1;;) {
    if (on_.unread().size() >= wants) {
      auto x = read_redis_reply(on_.unread());
      if (x.now == redis_read::state::wrong)
        refuse("an answer that is not Redis's protocol", "a Redis server at this address");
      if (x.now == redis_read::state::whole) {
        on_.take(x.size);
        return std::move(x.reply);
      }
      wants = x.size;
    }
    if (wants > most_redis_reply_bytes)
      throw redis_reply_too_large();
    if (!on_.receive(end))
      throw queue_lost("no answer for "
                       + counted(static_cast<std::uint64_t>(redis_patience.count()), "second"));
  }
}

void redis_talk::check(const redis_reply& x) const {
  if (x.is_error())
    for (const auto word : passing_redis_errors)
      if (x.is_error(word))
        throw queue_lost(as_utf8(std::string{x.bytes}));
}

void greet_redis(redis_talk& talk, const secret& user, const secret& password,
                 std::uint64_t database) {
  if (!password.is_empty()) {
    const auto reply = user.is_empty() ? talk.ask({"AUTH", password.reveal()})
                                       : talk.ask({"AUTH", user.reveal(), password.reveal()});
    if (reply.is_error())
      talk.refuse("a server that refuses the password or its user",
                  "the password in the address (redis://USER:PASSWORD@HOST/STREAM) or in "
                  "REDISCLI_AUTH");
  }
  if (database != 0)
    talk.demand({"SELECT", std::to_string(database)});
}

} // namespace leat
