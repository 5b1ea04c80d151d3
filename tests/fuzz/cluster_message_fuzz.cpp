#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/member.hpp"
#include "runtime/cluster/message_codec.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/cluster_facts.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

using namespace leat;

namespace {

/// What was read is written and read again as the same.
template <class Message>
void read(std::string_view bytes) {
  const auto x = decode_message<Message>(bytes);
  if (!x)
    return;
  const auto again = encode(*x);
  check(encode(*decode_message<Message>(again)) == again);
}

/// Takes `size` bytes, or what is left.
std::string_view take(std::string_view& from, std::size_t size) {
  const auto front = from.substr(0, size);
  from.remove_prefix(front.size());
  return front;
}

/// A coordinator and a member that hear whatever comes, from peers that know the token.
class peers {
public:
  void hear(std::uint8_t kind, source_id from, std::string_view bytes) {
    now_ += std::chrono::milliseconds{300};
    switch (kind % 4) {
    case 0:
      if (auto x = decode_message<cluster_hello>(bytes)) {
        x->token = "secret";
        lead_.on_hello(from, *x, now_);
      }
      break;
    case 1:
      if (const auto x = decode_message<cluster_beat>(bytes))
        lead_.on_beat(from, *x, now_);
      break;
    case 2:
      if (const auto x = decode_message<cluster_part>(bytes))
        lead_.on_part(from, *x, now_);
      break;
    default:
      if (const auto x = decode_message<cluster_word>(bytes))
        member_.on_word(*x, now_);
    }
    lead_.tick(now_);
    (void)lead_.take_output();
    (void)lead_.status(now_);
    (void)member_.take_beat(now_);
    (void)member_.take_piece();
  }

private:
  std::chrono::nanoseconds now_{std::chrono::hours{1}};
  test::kept_in_memory memory_;
  coordinator lead_{
      {},  "secret", memory_.begin_life(), memory_, [](const std::string&) { return std::nullopt; },
      now_};
  member member_{test::hello_of(1, 0), {}};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  read<cluster_hello>(text);
  read<cluster_beat>(text);
  read<cluster_word>(text);
  read<cluster_part>(text);
  read<cluster_status>(text);
  allow(errc::torn_file, [&] {
    const auto x = decode_coordinator_state(text, "x");
    check(decode_coordinator_state(encode(x), "x") == x);
  });
  peers all;
  auto rest = text;
  while (rest.size() > 3) {
    const auto head = take(rest, 3);
    all.hear(static_cast<std::uint8_t>(head[0]), static_cast<std::uint8_t>(head[1]) % 4U,
             take(rest, static_cast<std::uint8_t>(head[2])));
  }
  return 0;
}
