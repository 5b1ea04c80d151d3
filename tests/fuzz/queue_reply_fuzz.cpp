#include "runtime/sources/feed/inputs/nats_answers.hpp"
#include "runtime/sources/feed/inputs/nats_messages.hpp"
#include "runtime/sources/feed/inputs/redis_entries.hpp"
#include "runtime/sources/feed/inputs/tcp_line.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstdint>
#include <string_view>

using namespace leat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto reply = read_redis_reply(bytes);
  if (reply.now == redis_read::state::whole) {
    check(reply.size <= size);
    (void)redis_group_of(reply.reply, "leat");
    (void)redis_pending_of(reply.reply);
    if (const auto entries = redis_entries_of(reply.reply))
      for (const auto& x : *entries)
        check(parse_redis_entry_id(to_string(x.id)) == x.id);
  } else if (reply.now == redis_read::state::part) {
    check(reply.size > size);
  }
  const auto message = read_nats_message(bytes);
  if (message.now == nats_read::state::whole) {
    check(message.size <= size);
    touch(message.message.payload);
    touch(message.message.header);
    (void)message.message.status();
    (void)nats_delivery_of(message.message.reply);
  } else if (message.now == nats_read::state::part) {
    check(message.size > size);
  }
  (void)nats_fault_of(bytes);
  (void)nats_server_of(bytes);
  (void)nats_stream_state_of(bytes);
  (void)nats_consumer_state_of(bytes);
  (void)nats_stored_of(bytes);
  const auto line = read_tcp_line(bytes);
  check(line.size <= size);
  touch(line.place);
  touch(line.content);
  return 0;
}
