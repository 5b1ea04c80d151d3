#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/snapshot/snapshot_message.hpp"

#include <wire/snapshot.pb.h>

#include <algorithm>
#include <optional>

namespace leat {

namespace {

std::optional<dtype> type_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(last_dtype); ++i)
    if (const auto x = static_cast<dtype>(i); to_string(x) == name)
      return x;
  return std::nullopt;
}

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
    for (const auto& change : message.weights()) {
      need(x.weights.empty() || x.weights.back().step < change.step(), "weights out of order",
           "rising steps");
      x.weights.push_back({change.step(), {change.weights().begin(), change.weights().end()}});
      need(are_whole_weights(x.weights.back().weights), "weights " + text_of(x.weights.back()),
           "a sum from 1 to 2^32 - 1");
    }
    for (const auto& id : message.feeds())
      x.feeds.push_back(read_hash(id));
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
    pipeline_facts x{read_node(message.root(), {}), message.lanes(), message.by_iterators()};
    need(is_batch(x.root) && x.root.inputs.size() == 1,
         "a pipeline that ends in \"" + x.root.op + '"', "a batch");
    need(x.lanes > 0, "0 lanes", "at least 1");
    return x;
  }

  operator_facts read_node(const wire::Node& node, const tree_size& above) {
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

  operator_facts read_link(const wire::Operator& message, operator_facts input) const {
    auto x = read_operator(message);
    need(!x.data, "data of \"" + x.op + "\", which has an input", "data of sources only");
    x.inputs.push_back(std::move(input));
    return x;
  }

  operator_facts read_operator(const wire::Operator& message) const {
    need(!message.op().empty(), "an operator without a name", "a name");
    operator_facts x{.op = message.op()};
    for (const auto& option : message.options())
      x.options.push_back({option.name(), read_value(option)});
    if (message.has_data())
      x.data = read_data(message.data());
    x.state_version = message.state_version();
    x.reading_version = message.reading_version();
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
    refuse_snapshot(name_, "option \"" + message.name() + "\" without a value",
                    "a value that this version knows");
  }

  source_facts read_data(const wire::Data& message) const {
    return {.files = message.files(),
            .records = message.records(),
            .bytes = message.bytes(),
            .digest = read_hash(message.digest()),
            .versions = message.has_versions() ? read_versions(message.versions(), message.files())
                                               : stored_versions{}};
  }

  stored_versions read_versions(const wire::Versions& message, std::uint64_t files) const {
    stored_versions x{.place = read_hash(message.place()),
                      .digest = read_hash(message.digest()),
                      .named = {message.named().begin(), message.named().end()},
                      .marks = message.marks()};
    const auto named = files <= stored_versions::most_named ? files : 0;
    const auto marked = named == 0 && files <= stored_versions::most_marked ? files : 0;
    need(x.are_known() && x.named.size() == named && x.marks.size() == 2 * marked,
         std::to_string(x.named.size()) + " versions and " + std::to_string(x.marks.size())
             + " bytes of marks for " + std::to_string(files) + " files",
         "one of each file, and where they lie");
    return x;
  }

  /// Checks the options that are compared one by one; all others are kept and compared as they are.
  void check_options(const operator_facts& x) const {
    const auto* type = find_operator(x.op);
    if (!type || !(type->traits.is_map || type->traits.is_batch || type->comparison.differences))
      return;
    for (const auto& option : type->options) {
      const auto* value = x.find(option.name);
      if (!value && option.only_if_changed)
        continue;
      need(value && holds(*value, option.type),
           x.op + " without \"" + std::string{option.name} + '"',
           "all options of " + x.op + ", of their types");
      if (!option.words.empty())
        check_word(option, std::get<std::string>(*value));
    }
  }

  void check_word(const operator_option& option, const std::string& got) const {
    std::string known;
    for (const auto word : option.words) {
      if (got == word)
        return;
      known += (known.empty() ? "" : " or ") + std::string{word};
    }
    refuse_snapshot(name_, std::string{option.name} + " \"" + got + '"', known);
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
    need(message.given_cost_size() <= message.given_size(),
         std::to_string(message.given_cost_size()) + " costs of "
             + std::to_string(message.given_size()) + " inputs of mixes",
         "at most one of each");
    for (const auto samples : message.given())
      x.given.push_back({.samples = samples});
    for (int i = 0; i < message.given_cost_size(); ++i)
      x.given[static_cast<std::size_t>(i)].cost = message.given_cost(i);
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
    const std::string_view text = message.type();
    const bool ragged = text.starts_with(any_number_of);
    const auto type = type_named(text.substr(ragged ? any_number_of.size() : 0));
    need(type.has_value(), "field \"" + message.name() + "\" of type \"" + message.type() + '"',
         "a type that this version knows");
    const auto most = shape::max_rank - (ragged ? 1 : 0);
    need(message.dims_size() <= static_cast<int>(most),
         std::to_string(message.dims_size()) + " dimensions of \"" + message.name() + '"',
         "at most " + std::to_string(most));
    field_layout x{.name = message.name(), .ragged = ragged, .type = *type};
    std::uint64_t bytes = size_of(x.type);
    for (auto i = message.dims_size(); i-- > 0;) {
      need(!__builtin_mul_overflow(bytes, message.dims(i), &bytes) && bytes <= max_record_bytes,
           "too many elements of field \"" + message.name() + '"',
           "at most " + std::to_string(max_record_bytes) + " bytes a row");
      x.dims = x.dims.behind(message.dims(i));
    }
    need(!ragged || x.unit_bytes() > 0, "ragged field \"" + message.name() + "\" without bytes",
         "elements of at least one byte");
    return x;
  }

  static round_mark read_mark(const wire::Mark& message) {
    round_mark x{nullptr,
                 {message.epoch(), pass_number{message.pass_high()} << 64 | message.pass()},
                 message.consumed(),
                 message.before()};
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

snapshot read_message(std::string_view bytes, const std::string& name) {
  wire::Snapshot message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    refuse_snapshot(name, "a message that cannot be parsed", "a snapshot message");
  return reader{name}.read(message);
}

void refuse_snapshot(const std::string& name, std::string got, std::string needed) {
  throw_file_error(errc::bad_snapshot, "snapshot", name, std::move(got), std::move(needed));
}

} // namespace leat
