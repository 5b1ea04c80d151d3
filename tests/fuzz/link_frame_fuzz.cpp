#include "runtime/network/links/bulk_reader.hpp"
#include "runtime/network/links/frame_reader.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

using namespace leat;

namespace {

/// What was read is written and read again as the same.
template <class Read>
void read(Read decode, std::string_view bytes) {
  const auto x = decode(bytes);
  if (!x)
    return;
  const auto again = encode(*x);
  check(encode(*decode(again)) == again);
}

std::optional<link_hello> known_hello(std::string_view bytes) {
  auto x = decode_link_hello(bytes);
  return x && x->role ? std::move(x) : std::nullopt;
}

std::optional<link_welcome> known_welcome(std::string_view bytes) {
  auto x = decode_link_welcome(bytes);
  return x && x->role ? std::move(x) : std::nullopt;
}

/// Takes every other payload, and is never asked for room that there is no credit for.
class bulk_listener : public bulk_receiver {
public:
  std::optional<bulk_room> room_for(const bulk_head& x) override {
    check(x.payload > 0 && x.payload <= most_bulk_payload);
    if (x.number % 2 == 1)
      return std::nullopt;
    auto owner = std::make_shared<std::vector<char>>(x.payload);
    const auto half = x.payload / 2;
    return bulk_room{{{owner->data(), half}, {owner->data() + half, x.payload - half}}, owner};
  }
  void receive(const bulk_head& x, bulk_room room) override {
    cost += x.cost();
    touch(x.words);
    std::size_t size = 0;
    for (const auto& part : room.parts) {
      touch(std::string_view{part.data(), part.size()});
      size += part.size();
    }
    check(size == x.payload);
  }

  std::int64_t cost = 0;
};

void read_bulk(std::string_view came, link_role role, std::size_t piece) {
  constexpr std::int64_t window = 2000;
  bulk_reader reader{bulk_rules_from(role)};
  reader.grant(window);
  bulk_listener to;
  allow(errc::cluster, [&] {
    while (!came.empty()) {
      std::size_t size = 0;
      for (const auto& x : reader.room()) {
        const auto n = came.substr(0, piece - size).copy(static_cast<char*>(x.iov_base), x.iov_len);
        came.remove_prefix(n);
        size += n;
        if (n < x.iov_len)
          break;
      }
      check(size > 0);
      reader.filled(size, to);
      check(reader.allowed() <= window - to.cost);
    }
  });
}

} // namespace

/// The first byte says what may come and in which pieces, the others come.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view came{reinterpret_cast<const char*>(data), size};
  if (came.empty())
    return 0;
  const auto first = static_cast<std::uint8_t>(came[0]);
  came.remove_prefix(1);
  const auto role = static_cast<link_role>(first & 3);
  read_bulk(came, role, 1 + (first >> 4) * 5U);
  const frame_rules rules[] = {hello_rules(), answer_rules(), rules_from(role), rules_to(role)};
  frame_reader reader{rules[first >> 2 & 3]};
  const std::size_t piece = 1 + (first >> 4) * 5U;
  allow(errc::cluster, [&] {
    while (!came.empty()) {
      const auto room = reader.room();
      check(!room.empty());
      const auto taken = came.substr(0, piece).copy(room.data(), room.size());
      came.remove_prefix(taken);
      if (const auto x = reader.filled(taken)) {
        check(rules[first >> 2 & 3].allows(x->head));
        touch(x->body());
        read(known_hello, x->body());
        read(known_welcome, x->body());
        read(decode_link_refusal, x->body());
      }
    }
  });
  return 0;
}
