#include "runtime/children/call_codec.hpp"
#include "runtime/sample/sample_access.hpp"
#include "tests/support/test.hpp"

namespace leat::call_codec_test {
namespace {

/// A sample with fields of each kind, in random order.
void fill(sample& x, std::mt19937_64& chance) {
  std::array kinds{0, 1, 2, 3, 4};
  std::shuffle(kinds.begin(), kinds.end(), chance);
  for (const int kind : kinds)
    switch (kind) {
    case 0:
      x.set("bytes", std::string(chance() % 9, 'b'));
      break;
    case 1:
      x.set("number", static_cast<double>(chance() % 100));
      break;
    case 2:
      std::ranges::fill(x.make<std::uint16_t>("tensor", {2, chance() % 4}), chance() % 99);
      break;
    case 3:
      std::ranges::fill(x.make_ragged<float>("ragged", chance() % 5, {3}), 7.F);
      break;
    default:
      if (chance() % 2 == 0)
        x.set("maybe", true);
    }
}

void change(sample& x, std::mt19937_64& chance) {
  for (const auto& name : x.fields())
    switch (chance() % 5) {
    case 0:
      x.erase(name);
      break;
    case 1: {
      const auto before = std::string{x.text("bytes")};
      x.erase("bytes");
      x.set("bytes", before);
      return;
    }
    case 2:
      x.set(name, chance());
      break;
    case 3:
      x.set(name + '2', std::string_view{"new"});
      break;
    default:
      break;
    }
}

TEST_CASE("call_codec: a function in another process finds the sample, and changes it, as it would "
          "here") {
  const auto first = std::random_device{}();
  received_call received; // one for many calls, as in a child
  for (std::uint64_t seed = first; seed < first + std::uint64_t{400}; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    sample here;
    fill(here, chance);
    const auto given = bytes_of(here);
    std::string id = "record " + std::to_string(seed);
    sample_access::identify(here, [&id](std::string& to) { to += id; });
    context place{rng{seed, 5}, seed, 1 + seed, 4, nullptr, chance() % 2 == 0};
    function_call call{&here, chance() % 3 == 0 ? nullptr : &place, "argument"};
    const auto sent = bytes_written_by([&](value_writer& to) { write_call(to, call); });

    value_reader from{sent};
    received.read(from);
    from.end();
    auto& there = *received.call().on;
    REQUIRE(bytes_of(there) == given);
    REQUIRE(there.id() == id);
    REQUIRE(received.call().argument == "argument");
    REQUIRE((received.call().in == nullptr) == (call.in == nullptr));
    if (call.in) {
      auto copy = place.rng();
      REQUIRE(received.call().in->rng()() == copy());
      REQUIRE(received.call().in->epoch() == seed);
      REQUIRE(received.call().in->has_row() == place.has_row());
      REQUIRE(received.call().in->lane() == place.lane());
      REQUIRE(received.call().in->lanes() == 4);
    }
    try {
      change(there, chance);
    } catch (const bad_sample&) { // it has no "bytes" any more
    }
    received.call().result = "result";
    const auto answer = bytes_written_by([&](value_writer& to) { received.write_reply(to, {}); });
    value_reader reply{answer};
    REQUIRE_FALSE(read_reply(reply, call));
    reply.end();
    REQUIRE(call.result == "result");
    REQUIRE(bytes_of(here) == bytes_of(there));
    REQUIRE(here.fields() == there.fields());
  }
}

TEST_CASE("call_codec: fields that have not changed are not sent back") {
  sample here;
  here.set("large", std::string(100'000, 'x'));
  here.set("small", 1);
  function_call call{&here};
  const auto sent = bytes_written_by([&](value_writer& to) { write_call(to, call); });
  received_call received;
  value_reader from{sent};
  received.read(from);
  received.call().on->set("small", 2);
  const auto answer = bytes_written_by([&](value_writer& to) { received.write_reply(to, {}); });
  REQUIRE(answer.size() < 200);
  value_reader reply{answer};
  REQUIRE_FALSE(read_reply(reply, call));
  REQUIRE(here.get<int>("small") == 2);
  REQUIRE(here.bytes("large").size() == 100'000);
}

TEST_CASE("call_codec: how a call failed is told in full") {
  for (const auto kind : {call_failure::kind::bad, call_failure::kind::no_resources,
                          call_failure::kind::interrupted}) {
    const auto answer = bytes_written_by([&](value_writer& to) {
      received_call{}.write_reply(to, call_failure{kind, cause::empty, "text", {"ra\0w", 4}});
    });
    sample x;
    function_call call{&x};
    value_reader from{answer};
    const auto found = read_reply(from, call);
    REQUIRE(found);
    REQUIRE(found->what == kind);
    REQUIRE(found->why == cause::empty);
    REQUIRE(found->text == "text");
    REQUIRE(found->raised == std::string_view{"ra\0w", 4});
  }
}

TEST_CASE("call_codec: bytes that a damaged process wrote never do harm") {
  std::mt19937_64 chance{7};
  sample x;
  fill(x, chance);
  function_call call{&x};
  const auto sent = bytes_written_by([&](value_writer& to) { write_call(to, call); });
  received_call received;
  value_reader from{sent};
  received.read(from);
  received.call().on->set("bytes", std::string_view{"others"});
  const auto answer = bytes_written_by([&](value_writer& to) { received.write_reply(to, {}); });
  const auto given = bytes_of(x);
  const auto read = [&](const std::string& bytes) {
    sample y;
    set_fields(y, std::as_bytes(std::span{given}), read_bytes::copied);
    function_call other{&y};
    value_reader reader{bytes};
    try {
      (void)read_reply(reader, other);
    } catch (const torn_value&) {
      return false;
    }
    return true;
  };
  REQUIRE(read(answer));
  for (std::size_t size = 0; size < answer.size(); ++size)
    REQUIRE_FALSE(read(answer.substr(0, size)));
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = answer;
    for (auto flips = 1 + chance() % 4; flips > 0; --flips)
      bytes[chance() % bytes.size()] = static_cast<char>(chance());
    (void)read(bytes);
  }
}

} // namespace
} // namespace leat::call_codec_test
