#include "runtime/sources/feed/inputs/nats_answers.hpp"

#include <nlohmann/json.hpp>

namespace leat {

namespace {

using nats_json = nlohmann::json;

/// Null for anything that is not an object.
nats_json nats_object(std::string_view text) {
  auto all = nats_json::parse(text, nullptr, false);
  return all.is_object() ? all : nats_json{};
}

const nats_json& nats_member(const nats_json& x, const char* name) {
  static const nats_json none;
  const auto found = x.is_object() ? x.find(name) : x.end();
  return x.is_object() && found != x.end() ? *found : none;
}

std::uint64_t nats_count(const nats_json& x) {
  return x.is_number_unsigned() ? x.get<std::uint64_t>() : 0;
}

std::string nats_text(const nats_json& x) {
  return x.is_string() ? x.get<std::string>() : std::string{};
}

bool nats_truth(const nats_json& x) {
  return x.is_boolean() && x.get<bool>();
}

/// The value of a digit of base64; -1 for anything else.
int base64_value(char x) noexcept {
  if (x >= 'A' && x <= 'Z')
    return x - 'A';
  if (x >= 'a' && x <= 'z')
    return x - 'a' + 26;
  if (x >= '0' && x <= '9')
    return x - '0' + 52;
  return x == '+' ? 62 : x == '/' ? 63 : -1;
}

} // namespace

std::optional<nats_fault> nats_fault_of(std::string_view answer) {
  const auto all = nats_object(answer);
  if (all.is_null())
    return nats_fault{.text = "no JSON"};
  const auto& fault = nats_member(all, "error");
  if (fault.is_null())
    return std::nullopt;
  return nats_fault{.code = static_cast<unsigned>(nats_count(nats_member(fault, "code"))),
                    .text = nats_text(nats_member(fault, "description"))};
}

std::optional<nats_server> nats_server_of(std::string_view info) {
  const auto all = nats_object(info);
  if (all.is_null())
    return std::nullopt;
  return nats_server{.has_stream_storage = nats_truth(nats_member(all, "jetstream")),
                     .asks_for_tls = nats_truth(nats_member(all, "tls_required")),
                     .has_tls = nats_truth(nats_member(all, "tls_required"))
                                || nats_truth(nats_member(all, "tls_available")),
                     .asks_for_key = nats_member(all, "nonce").is_string()};
}

std::optional<nats_stream_state> nats_stream_state_of(std::string_view answer) {
  const auto all = nats_object(answer);
  const auto& state = nats_member(all, "state");
  if (!state.is_object())
    return std::nullopt;
  return nats_stream_state{.first = nats_count(nats_member(state, "first_seq")),
                           .last = nats_count(nats_member(state, "last_seq"))};
}

std::optional<nats_consumer_state> nats_consumer_state_of(std::string_view answer) {
  const auto all = nats_object(answer);
  const auto& config = nats_member(all, "config");
  const auto& delivered = nats_member(all, "delivered");
  const auto& floor = nats_member(all, "ack_floor");
  if (!config.is_object() || !delivered.is_object() || !floor.is_object())
    return std::nullopt;
  const auto& most = nats_member(config, "max_ack_pending");
  return nats_consumer_state{.delivered = nats_count(nats_member(delivered, "stream_seq")),
                             .acknowledged = nats_count(nats_member(floor, "stream_seq")),
                             .filter = nats_text(nats_member(config, "filter_subject")),
                             .acknowledges = nats_text(nats_member(config, "ack_policy")),
                             .is_pushed_to = nats_member(config, "deliver_subject").is_string(),
                             .most_pending =
                                 most.is_number_integer() ? most.get<std::int64_t>() : 0};
}

std::optional<nats_stored> nats_stored_of(std::string_view answer) {
  const auto all = nats_object(answer);
  const auto& message = nats_member(all, "message");
  auto payload = base64_decoded(nats_text(nats_member(message, "data")));
  const auto sequence = nats_count(nats_member(message, "seq"));
  if (!message.is_object() || !payload || sequence == 0)
    return std::nullopt;
  return nats_stored{.sequence = sequence, .payload = std::move(*payload)};
}

std::optional<std::string> base64_decoded(std::string_view text) {
  constexpr std::size_t group = 4;
  constexpr unsigned digit_bits = 6;
  constexpr unsigned byte_bits = 8;
  constexpr unsigned byte_mask = 0xff;
  if (text.size() % group != 0)
    return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / group);
  unsigned held = 0;
  unsigned bits = 0;
  for (const char x : text) {
    const int value = base64_value(x);
    if (value < 0)
      return std::nullopt;
    held = (held << digit_bits) | static_cast<unsigned>(value);
    bits += digit_bits;
    if (bits >= byte_bits) {
      bits -= byte_bits;
      bytes += static_cast<char>((held >> bits) & byte_mask);
    }
  }
  return bits < digit_bits ? std::optional{bytes} : std::nullopt;
}

} // namespace leat
