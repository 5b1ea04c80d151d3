#include "runtime/order/lane_message.hpp"

#include "runtime/base/wire_format.hpp"

#include <wire/snapshot.pb.h>

#include <cstdint>

namespace leat {

namespace {

// Messages within messages are preceded by their size, so sizes are added up first.

std::size_t size_of_message(const lane_base& x);
char* put_base(char* to, const lane_base& x);

std::uint64_t low_of(pass_number x) {
  return static_cast<std::uint64_t>(x);
}
std::uint64_t high_of(pass_number x) {
  return static_cast<std::uint64_t>(x >> 64);
}

std::size_t size_of_numbers(const round_mark& x) {
  return size_of_number(x.when.epoch) + size_of_number(low_of(x.when.pass))
         + size_of_number(high_of(x.when.pass)) + size_of_number(x.consumed)
         + size_of_number(x.before);
}

std::size_t size_of_message(const round_mark& x) {
  return size_of_numbers(x) + (x.base ? size_of_bytes(size_of_message(*x.base)) : 0);
}

char* put_numbers(char* to, const round_mark& x) {
  to = put(to, wire::Mark::kEpochFieldNumber, x.when.epoch);
  to = put(to, wire::Mark::kPassFieldNumber, low_of(x.when.pass));
  to = put(to, wire::Mark::kPassHighFieldNumber, high_of(x.when.pass));
  to = put(to, wire::Mark::kConsumedFieldNumber, x.consumed);
  return put(to, wire::Mark::kBeforeFieldNumber, x.before);
}

/// `size`: that of the mark's message.
char* put_mark(char* to, int field, const round_mark& x, std::size_t size) {
  to = put_numbers(put_size(to, field, size), x);
  if (!x.base)
    return to;
  to = put_size(to, wire::Mark::kBaseFieldNumber, size_of_message(*x.base));
  return put_base(to, *x.base);
}

std::size_t size_of_message(const lane_base::input& x) {
  return size_of_number(x.edge) + size_of_bytes(size_of_message(x.mark));
}

std::size_t size_of_message(const record_use& x) {
  return size_of_number(x.feed) + size_of_number(x.lowest) + size_of_number(x.behind);
}

std::size_t size_of_message(const lane_base& x) {
  auto size = size_of_number(x.given) + (x.state.empty() ? 0 : size_of_bytes(x.state.size()));
  for (const auto& input : x.inputs)
    size += size_of_bytes(size_of_message(input));
  for (const auto& use : x.state.uses())
    size += size_of_bytes(size_of_message(use));
  return size;
}

char* put_use(char* to, int field, const record_use& x) {
  to = put_size(to, field, size_of_message(x));
  to = put(to, wire::RecordUse::kFeedFieldNumber, x.feed);
  to = put(to, wire::RecordUse::kLowestFieldNumber, x.lowest);
  return put(to, wire::RecordUse::kBehindFieldNumber, x.behind);
}

char* put_base(char* to, const lane_base& x) {
  to = put(to, wire::Base::kGivenFieldNumber, x.given);
  if (!x.state.empty())
    to = put(to, wire::Base::kStateFieldNumber, x.state.bytes());
  for (const auto& input : x.inputs) {
    const auto mark = size_of_message(input.mark);
    to = put_size(to, wire::Base::kInputsFieldNumber,
                  size_of_number(input.edge) + size_of_bytes(mark));
    to = put(to, wire::Input::kEdgeFieldNumber, input.edge);
    to = put_mark(to, wire::Input::kMarkFieldNumber, input.mark, mark);
  }
  for (const auto& use : x.state.uses())
    to = put_use(to, wire::Base::kUsesFieldNumber, use);
  return to;
}

/// Bytes of a lane's mark, with the base that it has, or null.
std::size_t size_of_mark(const round_mark& x, const std::string* base) {
  return size_of_numbers(x) + (base ? size_of_bytes(base->size()) : 0);
}

std::size_t size_of_lane(const lane_state& x, std::size_t mark) {
  auto size = size_of_number(x.lane) + size_of_bytes(mark);
  for (const auto& use : x.used)
    size += size_of_bytes(size_of_message(use));
  return size;
}

char* put_lane(char* to, const lane_state& x) {
  const auto* base = x.mark.base ? &message_of(*x.mark.base) : nullptr;
  const auto mark = size_of_mark(x.mark, base);
  to = put_size(to, wire::Snapshot::kLanesFieldNumber, size_of_lane(x, mark));
  to = put(to, wire::Lane::kLaneFieldNumber, x.lane);
  to = put_numbers(put_size(to, wire::Lane::kMarkFieldNumber, mark), x.mark);
  if (base)
    to = put(to, wire::Mark::kBaseFieldNumber, *base);
  for (const auto& use : x.used)
    to = put_use(to, wire::Lane::kUsedFieldNumber, use);
  return to;
}

} // namespace

const std::string& message_of(const lane_base& x) {
  return x.message.get([&] {
    std::string message(size_of_message(x), '\0');
    put_base(message.data(), x);
    return message;
  });
}

std::size_t size_of_lanes(const lane_states& lanes) {
  std::size_t size = 0;
  for (const auto& x : lanes) {
    const auto* base = x.mark.base ? &message_of(*x.mark.base) : nullptr;
    // The tag of this field takes one byte more than those of others.
    size += 1 + size_of_bytes(size_of_lane(x, size_of_mark(x.mark, base)));
  }
  return size;
}

void append_lanes(std::string& to, const lane_states& lanes, std::size_t size) {
  const auto begin = to.size();
  to.resize(begin + size);
  auto* end = to.data() + begin;
  for (const auto& lane : lanes)
    end = put_lane(end, lane);
}

} // namespace leat
