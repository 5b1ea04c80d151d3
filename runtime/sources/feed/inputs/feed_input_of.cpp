#include "runtime/sources/feed/inputs/feed_input_of.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/sources/feed/inputs/nats_input.hpp"
#include "runtime/sources/feed/inputs/redis_input.hpp"
#include "runtime/sources/feed/inputs/tcp_lines_input.hpp"
#include "runtime/storage/remote/web_address.hpp"

namespace leat {

namespace {

constexpr std::uint16_t usual_redis_port = 6379;
constexpr std::uint16_t usual_nats_port = 4222;
constexpr auto known_queues = "redis://HOST/STREAM, nats://HOST/STREAM, with TLS rediss:// and "
                              "tls://, or tcp://HOST:PORT (docs/queues.md)";

} // namespace

std::shared_ptr<feed_input> feed_input_of(const std::string& url,
                                          const queue_environment& variable) {
  const std::string scheme{scheme_of(url)};
  if (scheme == "redis" || scheme == "rediss")
    return redis_input(redis_stream_of(parse_queue_address(url, usual_redis_port), variable));
  if (scheme == "nats" || scheme == "tls")
    return nats_input(nats_stream_of(parse_queue_address(url, usual_nats_port), variable));
  if (scheme == "tcp")
    return tcp_lines_input(tcp_lines_of(parse_queue_address(url, 0)));
  throw_file_error(errc::invalid_argument, "feed's input", as_utf8(without_secrets(url)),
                   "an address of no queue that leat knows", known_queues);
}

} // namespace leat
