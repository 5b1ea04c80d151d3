#include "runtime/snapshot_message.hpp"

#include "runtime/limits.hpp"

#include <wire/snapshot.pb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>
#include <variant>

namespace leat {

namespace {

// -- values to messages

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
}

void write(const stage_facts& x, wire::Operator& to) {
  to.set_op(x.op);
  for (const auto& option : x.options) {
    auto& message = *to.add_options();
    message.set_name(option.name);
    std::visit(value_writer{message}, option.value);
  }
  if (x.data)
    write(*x.data, *to.mutable_data());
}

constexpr std::string_view any_bytes = "bytes";

std::optional<dtype> type_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(last_dtype); ++i)
    if (const auto x = static_cast<dtype>(i); to_string(x) == name)
      return x;
  return std::nullopt;
}

void write(const field_layout& x, wire::Field& to) {
  to.set_name(x.name);
  to.set_type(std::string{x.ragged ? any_bytes : to_string(x.type)});
  for (std::size_t i = 0; !x.ragged && i < x.dims.rank(); ++i)
    to.add_dims(x.dims[i]);
}

class tree_writer {
public:
  void write_node(const stage_facts& last, const tree_size& above, wire::Node& to) {
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
  static std::vector<const stage_facts*> chain_of(const stage_facts& last) {
    std::vector<const stage_facts*> chain{&last};
    while (chain.back()->inputs.size() == 1)
      chain.push_back(&chain.back()->inputs[0]);
    return chain;
  }

  std::size_t operators_ = 0;
};

void write(const pipeline_facts& x, wire::Pipeline& to) {
  tree_writer{}.write_node(x.root, {}, *to.mutable_root());
  to.set_lanes(x.lanes);
  to.set_by_programs(x.by_programs);
}

// -- what changes from batch to batch, written by hand: a snapshot may be taken at each of them,
// and most of its bases are those of the one before.

enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2 };

// Each writes where it is told, where there is room, and returns where it ends.

char* put_varint(char* to, std::uint64_t x) {
  for (; x >= 0x80; x >>= 7)
    *to++ = static_cast<char>(x | 0x80);
  *to++ = static_cast<char>(x);
  return to;
}

char* put_tag(char* to, int field, wire_type type) {
  return put_varint(to, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}

char* put(char* to, int field, std::uint64_t x) {
  return x == 0 ? to : put_varint(put_tag(to, field, wire_type::varint), x);
}

/// What stands before bytes, or before a message.
char* put_size(char* to, int field, std::size_t size) {
  return put_varint(put_tag(to, field, wire_type::bytes), size);
}

char* put(char* to, int field, std::string_view bytes) {
  return std::copy(bytes.begin(), bytes.end(), put_size(to, field, bytes.size()));
}

char* put_fixed(char* to, int field, std::uint64_t x) {
  if (x == 0)
    return to;
  to = put_tag(to, field, wire_type::fixed64);
  std::memcpy(to, &x, sizeof x);
  return to + sizeof x;
}

/// A short message: at most 127 bytes, written by `put_fields` behind its size.
template <class PutFields>
char* put_short(char* to, int field, PutFields put_fields) {
  to = put_size(to, field, 0);
  auto* const end = put_fields(to);
  to[-1] = static_cast<char>(end - to);
  return end;
}

std::size_t size_of_varint(std::uint64_t x) {
  return (static_cast<std::size_t>(std::bit_width(x | 1)) + 6) / 7;
}

/// Of a field with a number below 16, which is not written when it is zero.
std::size_t size_of_number(std::uint64_t x) {
  return x == 0 ? 0 : 1 + size_of_varint(x);
}

/// The same of bytes, which are written in any case.
std::size_t size_of_bytes(std::size_t size) {
  return 1 + size_of_varint(size) + size;
}

// Messages within messages stand behind their size, so sizes are added up first.

std::size_t size_of_message(const lane_base& x);
char* put_base(char* to, const lane_base& x);

std::uint64_t low_of(pass_number x) {
  return static_cast<std::uint64_t>(x);
}
std::uint64_t high_of(pass_number x) {
  return static_cast<std::uint64_t>(x >> 64);
}

std::size_t size_of_numbers(const round_mark& x) {
  return size_of_number(x.when.era) + size_of_number(low_of(x.when.pass))
         + size_of_number(high_of(x.when.pass)) + size_of_number(x.consumed);
}

std::size_t size_of_message(const round_mark& x) {
  return size_of_numbers(x) + (x.base ? size_of_bytes(size_of_message(*x.base)) : 0);
}

char* put_numbers(char* to, const round_mark& x) {
  to = put(to, wire::Mark::kEraFieldNumber, x.when.era);
  to = put(to, wire::Mark::kPassFieldNumber, low_of(x.when.pass));
  to = put(to, wire::Mark::kPassHighFieldNumber, high_of(x.when.pass));
  return put(to, wire::Mark::kConsumedFieldNumber, x.consumed);
}

/// `size`: of its message.
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

/// Digests, counts, and causes of short names.
constexpr std::size_t most_bytes_of_sums = 128 + num_causes * 64;

char* put_hash(char* to, int field, const hash128& x) {
  return put_short(to, field, [&](char* at) {
    at = put_fixed(at, wire::Hash128::kLowFieldNumber, x.low);
    return put_fixed(at, wire::Hash128::kHighFieldNumber, x.high);
  });
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
  return put(to, wire::Sums::kPartialFieldNumber, std::uint64_t{x.partial});
}

/// Of a lane's mark, with the base that it has or null.
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

std::size_t size_of_lanes(const lane_states& lanes) {
  std::size_t size = 0;
  for (const auto& x : lanes) {
    const auto* base = x.mark.base ? &message_of(*x.mark.base) : nullptr;
    // The number of this field takes one byte more than those of others.
    size += 1 + size_of_bytes(size_of_lane(x, size_of_mark(x.mark, base)));
  }
  return size;
}

/// `size`: of all lanes.
void append(std::string& to, const lane_states& lanes, std::size_t size) {
  const auto begin = to.size();
  to.resize(begin + size);
  auto* end = to.data() + begin;
  for (const auto& lane : lanes)
    end = put_lane(end, lane);
}

// -- messages to values

/// Reads one message into a value; names the snapshot where it refuses.
class reader {
public:
  explicit reader(const std::string& name) : name_(name) {}

  snapshot read(const wire::Snapshot& message) {
    snapshot x;
    x.pipeline = read_pipeline(message.pipeline());
    x.epoch = message.epoch();
    x.step = message.step();
    x.global_step = message.global_step();
    x.rank = message.rank();
    x.world_size = message.world_size();
    x.sums = read_sums(message.sums());
    x.began = message.began();
    need(x.rank < x.world_size,
         "rank " + std::to_string(x.rank) + " of " + std::to_string(x.world_size),
         "a rank below the world size");
    read_lanes(message, x);
    for (const auto& steps : message.left_out()) {
      need(steps.first() <= steps.last(), "steps left out in falling order", "rising ones");
      x.left_out.push_back({steps.first(), steps.last()});
    }
    for (const auto& field : message.fields()) {
      need(x.fields.empty() || x.fields.back().name < field.name(), "fields out of order",
           "rising names");
      x.fields.push_back(read_field(field));
    }
    return x;
  }

private:
  void need(bool condition, const std::string& got, const std::string& needed) const {
    if (!condition)
      refuse_snapshot(name_, got, needed);
  }

  pipeline_facts read_pipeline(const wire::Pipeline& message) {
    pipeline_facts x{read_node(message.root(), {}), message.lanes(), message.by_programs()};
    need(x.root.op == "batch" && x.root.inputs.size() == 1,
         "a pipeline that ends in \"" + x.root.op + '"', "a batch");
    need(x.lanes > 0, "0 lanes", "at least 1");
    return x;
  }

  stage_facts read_node(const wire::Node& node, const tree_size& above) {
    need(node.operators_size() > 0, "a node without operators", "a source or a join");
    need(node.inputs_size() != 1, "a node with 1 input", "none, or 2 and more");
    const auto size = checked_size(node, above);
    auto x = read_operator(node.operators(0));
    need(x.data.has_value() == (node.inputs_size() == 0),
         '"' + x.op + "\" with " + std::to_string(node.inputs_size()) + " inputs",
         "data of a source, or inputs of a join");
    for (const auto& input : node.inputs())
      x.inputs.push_back(read_node(input, size));
    for (int i = 1; i < node.operators_size(); ++i)
      x = read_link(node.operators(i), std::move(x));
    return x;
  }

  tree_size checked_size(const wire::Node& node, const tree_size& above) {
    const auto links = static_cast<std::size_t>(node.operators_size());
    const tree_size size{.operators = operators_ += links,
                         .height = above.height + links,
                         .nested_joins = above.nested_joins + (node.inputs_size() > 0 ? 1 : 0)};
    const auto excess = excess_of(size);
    need(excess.empty(), excess, "fewer");
    return size;
  }

  stage_facts read_link(const wire::Operator& message, stage_facts input) const {
    auto x = read_operator(message);
    need(!x.data, "data of \"" + x.op + "\", which has an input", "data of sources only");
    x.inputs.push_back(std::move(input));
    return x;
  }

  stage_facts read_operator(const wire::Operator& message) const {
    need(!message.op().empty(), "an operator without a name", "a name");
    stage_facts x{.op = message.op()};
    for (const auto& option : message.options())
      x.options.push_back({option.name(), read_value(option)});
    if (message.has_data())
      x.data = read_data(message.data());
    check_options(x);
    return x;
  }

  option_value read_value(const wire::Option& message) const {
    switch (message.value_case()) {
    case wire::Option::kFlag:
      return message.flag();
    case wire::Option::kNumber:
      return message.number();
    case wire::Option::kReal:
      return message.real();
    case wire::Option::kText:
      return message.text();
    case wire::Option::kNumbers:
      return std::vector<std::uint64_t>(message.numbers().values().begin(),
                                        message.numbers().values().end());
    case wire::Option::kTexts:
      return std::vector<std::string>(message.texts().values().begin(),
                                      message.texts().values().end());
    case wire::Option::VALUE_NOT_SET:
      break;
    }
    refuse_snapshot(name_, "no value of option \"" + message.name() + '"',
                    "a value that this version knows");
  }

  source_facts read_data(const wire::Data& message) const {
    return {.files = message.files(),
            .records = message.records(),
            .bytes = message.bytes(),
            .digest = read_hash(message.digest())};
  }

  /// Those that comparing looks at by name; all others are kept and compared as they are.
  void check_options(const stage_facts& x) const {
    if (x.op == "map") {
      need_option<std::string>(x, "name");
      need_option<std::string>(x, "parameters");
    } else if (x.op == "shuffle") {
      need_option<std::uint64_t>(x, "seed");
      need_word(x, "kind", {"none", "full", "windowed"});
      need_option<std::uint64_t>(x, "window");
    } else if (x.op == "batch") {
      need_option<std::uint64_t>(x, "rows");
      need_word(x, "end", {"auto", "drop", "mask", "cycle"});
      need_option<std::vector<std::string>>(x, "fields");
    }
  }

  template <class T>
  void need_option(const stage_facts& x, const std::string& name) const {
    need(x.find<T>(name) != nullptr, x.op + " without \"" + name + '"',
         "all options of " + x.op + ", of their types");
  }

  void need_word(const stage_facts& x, const std::string& name,
                 const std::vector<std::string>& words) const {
    need_option<std::string>(x, name);
    const auto got = x.get<std::string>(name);
    std::string known;
    for (const auto& word : words) {
      if (got == word)
        return;
      known += (known.empty() ? "" : " or ") + word;
    }
    refuse_snapshot(name_, name + " \"" + got + '"', known);
  }

  handed_over read_sums(const wire::Sums& message) const {
    handed_over x;
    x.digest = read_hash(message.digest());
    x.epoch_digest = read_hash(message.epoch_digest());
    x.samples = message.samples();
    for (const auto& bad : message.bad()) {
      const auto why = parse_cause(bad.cause());
      need(why.has_value(), "cause \"" + bad.cause() + '"', "a cause that this version knows");
      x.bad[static_cast<std::size_t>(*why)] += bad.count();
    }
    x.partial = message.partial();
    return x;
  }

  void read_lanes(const wire::Snapshot& message, snapshot& x) const {
    for (const auto& lane : message.lanes()) {
      need(lane.lane() < x.pipeline.lanes && lane.lane() % x.world_size == x.rank,
           "lane " + std::to_string(lane.lane()) + " in the part of rank " + std::to_string(x.rank),
           "a lane of that rank");
      need(x.lanes.empty() || x.lanes.back().lane < lane.lane(), "lanes out of order",
           "rising lanes");
      x.lanes.push_back({lane.lane(), read_mark(lane.mark())});
      for (const auto& use : lane.used())
        x.lanes.back().used.push_back({use.feed(), use.lowest(), use.behind()});
    }
  }

  field_layout read_field(const wire::Field& message) const {
    if (message.type() == any_bytes)
      return {.name = message.name(), .ragged = true};
    const auto type = type_named(message.type());
    need(type.has_value(), "field \"" + message.name() + "\" of type \"" + message.type() + '"',
         "a type that this version knows");
    need(message.dims_size() <= static_cast<int>(shape::max_rank),
         std::to_string(message.dims_size()) + " dimensions of \"" + message.name() + '"',
         "at most " + std::to_string(shape::max_rank));
    field_layout x{.name = message.name(), .type = *type};
    std::uint64_t bytes = size_of(x.type);
    for (auto i = message.dims_size(); i-- > 0;) {
      need(!__builtin_mul_overflow(bytes, message.dims(i), &bytes) && bytes <= max_record_bytes,
           "too many elements of field \"" + message.name() + '"',
           "at most " + std::to_string(max_record_bytes) + " bytes a row");
      x.dims = x.dims.behind(message.dims(i));
    }
    return x;
  }

  static round_mark read_mark(const wire::Mark& message) {
    round_mark x{nullptr,
                 {message.era(), pass_number{message.pass_high()} << 64 | message.pass()},
                 message.consumed()};
    if (!message.has_base())
      return x;
    auto base = std::make_shared<lane_base>();
    base->when = x.when;
    base->given = message.base().given();
    base->state = item::from_bytes(message.base().state());
    for (const auto& use : message.base().uses())
      base->state.use({use.feed(), use.lowest(), use.behind()});
    for (const auto& input : message.base().inputs())
      base->inputs.push_back({input.edge(), read_mark(input.mark())});
    x.base = std::move(base);
    return x;
  }

  static hash128 read_hash(const wire::Hash128& message) {
    return {.low = message.low(), .high = message.high()};
  }

  const std::string& name_;
  std::size_t operators_ = 0;
};

} // namespace

const std::string& message_of(const lane_base& x) {
  return x.message.get([&] {
    std::string message(size_of_message(x), '\0');
    put_base(message.data(), x);
    return message;
  });
}

std::string message_of(const pipeline_facts& x) {
  wire::Snapshot message;
  write(x, *message.mutable_pipeline());
  return message.SerializeAsString();
}

void append_state(const snapshot& x, const lane_states& lanes, std::string& to) {
  const auto size = size_of_lanes(lanes);
  std::array<char, most_bytes_of_sums> sums;
  const auto* sums_end = put_sums(sums.data(), x.sums);
  const std::string_view all_sums{sums.data(), static_cast<std::size_t>(sums_end - sums.data())};
  std::array<char, most_bytes_of_sums + 128> head;
  auto* end = head.data();
  end = put(end, wire::Snapshot::kEpochFieldNumber, x.epoch);
  end = put(end, wire::Snapshot::kStepFieldNumber, x.step);
  end = put(end, wire::Snapshot::kGlobalStepFieldNumber, x.global_step);
  end = put(end, wire::Snapshot::kRankFieldNumber, x.rank);
  end = put(end, wire::Snapshot::kWorldSizeFieldNumber, x.world_size);
  end = put(end, wire::Snapshot::kSumsFieldNumber, all_sums);
  end = put(end, wire::Snapshot::kBeganFieldNumber, x.began);
  const auto head_size = static_cast<std::size_t>(end - head.data());
  to.reserve(to.size() + head_size + size);
  to.append(head.data(), head_size);
  append(to, lanes, size);
  if (x.left_out.empty() && x.fields.empty())
    return;
  wire::Snapshot behind;
  for (const auto& steps : x.left_out) {
    auto& range = *behind.add_left_out();
    range.set_first(steps.first);
    range.set_last(steps.last);
  }
  for (const auto& field : x.fields)
    write(field, *behind.add_fields());
  behind.AppendToString(&to);
}

snapshot read_message(std::string_view bytes, const std::string& name) {
  wire::Snapshot message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    refuse_snapshot(name, "a message that does not parse", "a snapshot message");
  return reader{name}.read(message);
}

void refuse_snapshot(const std::string& name, std::string got, std::string needed) {
  throw error(
      errc::bad_snapshot,
      {.stage = "snapshot", .file = name, .got = std::move(got), .needed = std::move(needed)});
}

} // namespace leat
