#pragma once

#include "runtime/sources/feed/inputs/queue_address.hpp"
#include "runtime/sources/feed/inputs/queue_connection.hpp"
#include "runtime/sources/feed/inputs/redis_replies.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// The reply to a command is larger than what is read at once.
class redis_reply_too_large : public queue_lost {
public:
  redis_reply_too_large();
};

/// Commands to a Redis server and its replies, on one connection. A reply lives until the next
/// command. What a server says only for a while (that it loads its data, for one) is thrown as
/// `queue_lost`.
class redis_talk {
public:
  /// `name`: the queue's, for errors.
  redis_talk(queue_connection& on, const std::string& name) : on_(on), name_(name) {}

  /// The reply, which may be an error. `pause`: how long the server itself may wait.
  redis_reply ask(const std::vector<std::string_view>& words, std::chrono::milliseconds pause = {});
  /// Throws for an error.
  redis_reply demand(const std::vector<std::string_view>& words);
  /// Makes these commands one step, and returns their replies; none of them is an error.
  std::vector<redis_reply>
  demand_together(const std::vector<std::vector<std::string_view>>& commands);

  /// Throws `errc::io`: what the server has said, and what to do.
  [[noreturn]] void refuse(std::string got, std::string needed) const;
  /// The same for an error reply.
  [[noreturn]] void refuse(const redis_reply& x) const;

private:
  redis_reply read(std::chrono::milliseconds pause = {});
  void check(const redis_reply& x) const;

  queue_connection& on_;
  const std::string& name_;
};

/// Says who this is. Both may be empty. `database`: 0 is the usual one.
void greet_redis(redis_talk& talk, const secret& user, const secret& password,
                 std::uint64_t database);

} // namespace leat
