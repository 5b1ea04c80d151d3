#include "runtime/base/wire_format.hpp"
#include "runtime/order/lane_message.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/snapshot/snapshot_message.hpp"

#include <wire/snapshot.pb.h>

#include <algorithm>
#include <variant>

namespace leat {

namespace {

void write(const hash128& x, wire::Hash128& to) {
  to.set_low(x.low);
  to.set_high(x.high);
}

/// Sets the member of the oneof that belongs to the value's type.
struct value_writer {
  wire::Option& to;

  void operator()(bool x) const { to.set_flag(x); }
  void operator()(std::uint64_t x) const { to.set_number(x); }
  void operator()(double x) const { to.set_real(x); }
  void operator()(const std::string& x) const { to.set_text(x); }
  void operator()(const std::vector<std::uint64_t>& x) const {
    to.mutable_numbers()->mutable_values()->Assign(x.begin(), x.end());
  }
  void operator()(const std::vector<std::string>& x) const {
    to.mutable_texts()->mutable_values()->Assign(x.begin(), x.end());
  }
};

void write(const source_facts& x, wire::Data& to) {
  to.set_files(x.files);
  to.set_records(x.records);
  to.set_bytes(x.bytes);
  write(x.digest, *to.mutable_digest());
  if (!x.versions.are_known())
    return;
  auto& versions = *to.mutable_versions();
  write(x.versions.place, *versions.mutable_place());
  write(x.versions.digest, *versions.mutable_digest());
  versions.mutable_named()->Assign(x.versions.named.begin(), x.versions.named.end());
  versions.set_marks(x.versions.marks);
}

void write(const operator_facts& x, wire::Operator& to) {
  to.set_op(x.op);
  for (const auto& option : x.options) {
    auto& message = *to.add_options();
    message.set_name(option.name);
    std::visit(value_writer{message}, option.value);
  }
  if (x.data)
    write(*x.data, *to.mutable_data());
  to.set_state_version(x.state_version);
  to.set_reading_version(x.reading_version);
}

std::string type_text(const field_layout& x) {
  if (x.is_bytes())
    return std::string{any_bytes};
  return std::string{x.ragged ? any_number_of : ""} + std::string{to_string(x.type)};
}

void write(const field_layout& x, wire::Field& to) {
  to.set_name(x.name);
  to.set_type(type_text(x));
  for (std::size_t i = 0; i < x.dims.rank(); ++i)
    to.add_dims(x.dims[i]);
}

class tree_writer {
public:
  void write_node(const operator_facts& last, const tree_size& above, wire::Node& to) {
    const auto chain = chain_of(last);
    const auto& inputs = chain.back()->inputs;
    const tree_size size{.operators = operators_ += chain.size(),
                         .height = above.height + chain.size(),
                         .nested_joins = above.nested_joins + (inputs.empty() ? 0 : 1)};
    check_tree_size(size);
    for (auto x = chain.rbegin(); x != chain.rend(); ++x)
      write(**x, *to.add_operators());
    for (const auto& input : inputs)
      write_node(input, size, *to.add_inputs());
  }

private:
  /// From the last operator down to a source or a join.
  static std::vector<const operator_facts*> chain_of(const operator_facts& last) {
    std::vector<const operator_facts*> chain{&last};
    while (chain.back()->inputs.size() == 1)
      chain.push_back(&chain.back()->inputs[0]);
    return chain;
  }

  std::size_t operators_ = 0;
};

void write(const pipeline_facts& x, wire::Pipeline& to) {
  tree_writer{}.write_node(x.root, {}, *to.mutable_root());
  to.set_lanes(x.lanes);
  to.set_by_iterators(x.by_iterators);
}

// -- what changes from batch to batch, written by hand: a snapshot may be taken at each of them,
// and most of its bases are those of the one before.

/// Digests, counts, and causes of short names; for each input of a mix two numbers.
std::size_t most_bytes_of_sums(const handed_over& x) {
  constexpr std::size_t most_bytes_of_number = 10;
  return 160 + num_causes * 64 + x.given.size() * 2 * most_bytes_of_number;
}

char* put_hash(char* to, int field, const hash128& x) {
  return put_short(to, field, [&](char* at) {
    at = put_fixed(at, wire::Hash128::kLowFieldNumber, x.low);
    return put_fixed(at, wire::Hash128::kHighFieldNumber, x.high);
  });
}

/// One number of each input, up to the last that is not 0.
char* put_counts(char* to, int field, const input_counts& x, std::uint64_t input_count::*number) {
  const auto last = std::find_if(x.rbegin(), x.rend(), [&](auto& y) { return y.*number != 0; });
  std::size_t size = 0;
  for (auto i = last; i != x.rend(); ++i)
    size += size_of_varint(*i.*number);
  if (size == 0)
    return to;
  to = put_size(to, field, size);
  for (auto i = x.begin(); i != last.base(); ++i)
    to = put_varint(to, *i.*number);
  return to;
}

char* put_sums(char* to, const handed_over& x) {
  to = put_hash(to, wire::Sums::kDigestFieldNumber, x.digest);
  to = put_hash(to, wire::Sums::kEpochDigestFieldNumber, x.epoch_digest);
  to = put(to, wire::Sums::kSamplesFieldNumber, x.samples);
  for (std::size_t i = 0; i < num_causes; ++i)
    if (x.bad[i] != 0)
      to = put_short(to, wire::Sums::kBadFieldNumber, [&](char* at) {
        at = put(at, wire::BadCount::kCauseFieldNumber, to_string(static_cast<cause>(i)));
        return put(at, wire::BadCount::kCountFieldNumber, x.bad[i]);
      });
  to = put(to, wire::Sums::kPartialFieldNumber, std::uint64_t{x.partial});
  to = put_counts(to, wire::Sums::kGivenFieldNumber, x.given, &input_count::samples);
  return put_counts(to, wire::Sums::kGivenCostFieldNumber, x.given, &input_count::cost);
}

} // namespace

std::string message_of(const pipeline_facts& x) {
  wire::Snapshot message;
  write(x, *message.mutable_pipeline());
  return message.SerializeAsString();
}

void append_state(const snapshot& x, const lane_states& lanes, std::string& to) {
  const auto size = size_of_lanes(lanes);
  const auto most = most_bytes_of_sums(x.sums);
  const auto room = std::make_unique_for_overwrite<char[]>(2 * most + 128);
  const auto* sums_end = put_sums(room.get(), x.sums);
  const std::string_view all_sums{room.get(), static_cast<std::size_t>(sums_end - room.get())};
  auto* const head = room.get() + most;
  auto* end = head;
  end = put(end, wire::Snapshot::kEpochFieldNumber, x.epoch);
  end = put(end, wire::Snapshot::kStepFieldNumber, x.step);
  end = put(end, wire::Snapshot::kGlobalStepFieldNumber, x.global_step);
  end = put(end, wire::Snapshot::kRankFieldNumber, x.rank);
  end = put(end, wire::Snapshot::kWorldSizeFieldNumber, x.world_size);
  end = put(end, wire::Snapshot::kSumsFieldNumber, all_sums);
  end = put(end, wire::Snapshot::kBeganFieldNumber, x.began);
  const auto head_size = static_cast<std::size_t>(end - head);
  to.reserve(to.size() + head_size + size);
  to.append(head, head_size);
  append_lanes(to, lanes, size);
  if (x.left_out.empty() && x.fields.empty() && x.weights.empty() && x.feeds.empty())
    return;
  wire::Snapshot behind;
  for (const auto& steps : x.left_out) {
    auto& range = *behind.add_left_out();
    range.set_first(steps.first);
    range.set_last(steps.last);
  }
  for (const auto& field : x.fields)
    write(field, *behind.add_fields());
  for (const auto& change : x.weights) {
    auto& phase = *behind.add_weights();
    phase.set_step(change.step);
    for (const auto weight : change.weights)
      phase.add_weights(weight);
  }
  for (const auto& id : x.feeds)
    write(id, *behind.add_feeds());
  behind.AppendToString(&to);
}

} // namespace leat
