#include "runtime/rows/plan_graph.hpp"

#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/text/pipeline_text.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/sources.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// What an operator keeps in a lane, apart from what its inputs keep.
struct kept_state {
  std::string_view op;
  const char* what;
  /// Of numbers and keys of usual size.
  std::uint64_t bytes;
  /// Added to each item on its way.
  std::uint64_t item_bytes;
};

/// Streams: without the place where a record stands.
constexpr std::array<kept_state, 17> kept_states{{
    {"tar_stream", "unit, and place in it", 1, 24},
    {"lines", "unit, and place in it", 1, 1},
    {"json_lines", "unit, and place in it", 1, 1},
    {"sequential", "unit, and place in it", 24, 24},
    {"standard_input", "a number", 3, 3},
    {"once", "a number", 3, 3},
    {"take", "a count", 3, 0},
    {"skip", "a count", 3, 0},
    {"enumerate", "a number", 3, 3},
    {"repeat", "the repetition", 1, 1},
    {"concat", "which input", 1, 1},
    {"zip", "items of a sample in the making", 3, 0},
    {"mix", "shares and ends of its inputs", 1, 2},
    {"shuffle_buffer", "items", 5, 0},
    {"flat_map", "parent, and next child", 2, 1},
    {"filter", "place in its input", 0, 0},
    {"read_files", "an open file, and place in it", 40, 60},
}};

constexpr std::uint64_t bytes_of_edge = 4;
/// Of a mix, for each of its inputs.
constexpr std::uint64_t bytes_of_share = 6;
/// What a snapshot writes around the states of a round.
constexpr std::uint64_t bytes_around_round = 24;

const kept_state& state_of(const operator_node& x) {
  static constexpr kept_state other{"", "what its function keeps", 0, 0};
  const auto found = std::find_if(kept_states.begin(), kept_states.end(),
                                  [&](const kept_state& state) { return state.op == x.op; });
  return found == kept_states.end() ? other : *found;
}

/// Numbers take 7 bits a byte.
std::uint64_t number_bytes(std::uint64_t largest) {
  return (static_cast<std::uint64_t>(std::bit_width(largest | 1)) + 6) / 7;
}

std::string counted(std::uint64_t n, const std::string& one) {
  return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s");
}

/// Where a record stands: unit, number, offset, length.
std::uint64_t place_bytes(const operator_node& x) {
  if (!x.stream)
    return 0;
  const auto units = std::max<std::uint64_t>(1, x.stream->get()->units());
  return number_bytes(units) + 2 * number_bytes(x.facts().bytes / units) + 2;
}

/// What comes out of an operator.
struct item_flow {
  /// The step that gives it: maps are none.
  std::size_t step = 0;
  /// Of an item; empty where it depends on content.
  std::optional<std::uint64_t> bytes = 0;
};

std::optional<std::uint64_t> plus(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a && b ? std::optional{*a + *b} : std::nullopt;
}

/// A sample is of all inputs with zip, of one of them with all others.
std::optional<std::uint64_t> item_bytes(const operator_node& x,
                                        const std::vector<item_flow>& inputs) {
  std::optional<std::uint64_t> bytes = 0;
  for (const auto& input : inputs)
    bytes = x.op == "zip"           ? plus(bytes, input.bytes)
            : bytes && !input.bytes ? std::nullopt
                                    : std::max(bytes, input.bytes);
  return plus(bytes, state_of(x).item_bytes + place_bytes(x));
}

/// Follows the planner through the tree: rounds come in the order of its edges.
class graph_builder {
public:
  graph_builder(const sample_graph& plan, std::uint64_t lanes) : plan_(plan), lanes_(lanes) {}

  std::vector<plan_round> build(const operator_node& root) {
    plan_round last;
    add(root, last, true);
    rounds_.push_back(std::move(last));
    return std::move(rounds_);
  }

private:
  /// `keeps`: nothing above drops samples that were made.
  item_flow add(const operator_node& x, plan_round& to, bool keeps) {
    if (is_indexed(x))
      return add_indexed(x, to);
    if (probes_content(x))
      return add_probing(x, to, keeps);
    std::vector<item_flow> inputs;
    for (const auto& input : x.inputs)
      inputs.push_back(add(*input, to, keeps && x.op != "shuffle_buffer"));
    add_work(x, to);
    if (x.op == "map")
      return inputs.front();
    plan_step step{.call = short_call(x), .note = note_of(x)};
    for (const auto& input : inputs)
      step.inputs.push_back(input.step);
    const auto bytes = item_bytes(x, inputs);
    if (x.op != "filter")
      keep_state(x, bytes, step);
    to.iterator.push_back(std::move(step));
    return {to.iterator.size() - 1, bytes};
  }

  /// A formula, dealt to the lanes: all its state is how far each has come.
  item_flow add_indexed(const operator_node& x, plan_round& to) {
    const auto last = add_indexed_operator(x, to);
    const auto bytes = number_bytes(share(size_of(x), 0, lanes_));
    if (!plan_.is_indexed()) {
      to.iterator[last].state = "a number";
      to.iterator[last].state_bytes = bytes;
    }
    return {last, bytes};
  }

  std::size_t add_indexed_operator(const operator_node& x, plan_round& to) {
    std::vector<std::size_t> inputs;
    for (const auto& input : x.inputs)
      inputs.push_back(add_indexed_operator(*input, to));
    add_work(x, to);
    if (x.op == "map")
      return inputs.front();
    to.iterator.push_back({.call = short_call(x), .inputs = std::move(inputs), .note = note_of(x)});
    return to.iterator.size() - 1;
  }

  item_flow add_probing(const operator_node& x, plan_round& to, bool keeps) {
    plan_step step{.call = short_call(x)};
    std::vector<item_flow> inputs;
    for (const auto& input : x.inputs) {
      plan_round behind;
      inputs.push_back(add(*input, behind, true));
      behind.function.push_back("probe for " + name_of(x));
      step.rounds.push_back(rounds_.size());
      rounds_.push_back(std::move(behind));
      const bool kept = keeps && plan_.edges[step.rounds.back()].keeps_samples;
      if (x.op != "read_files")
        to.function.push_back("samples of round " + std::to_string(rounds_.size())
                              + (kept ? ", as they were made" : ", made again"));
    }
    add_work(x, to);
    auto bytes = item_bytes(x, inputs);
    if (x.op == "pack" || x.op == "scan")
      bytes.reset();
    else if (x.op != "read_files") // whether the item was bad
      bytes = plus(bytes, 1);
    keep_state(x, bytes, step);
    to.iterator.push_back(std::move(step));
    return {to.iterator.size() - 1, bytes};
  }

  /// What workers do for it.
  static void add_work(const operator_node& x, plan_round& to) {
    if (x.is_source())
      to.function.push_back("read " + x.op);
    else if (x.op == "read_files")
      to.function.push_back("read files");
    else if (x.op == "map" || x.op == "scan" || x.op == "flat_map")
      to.function.push_back(name_of(x));
    else if (x.op == "enumerate" || x.op == "zip" || x.op == "pack")
      to.function.push_back(x.op);
  }

  static std::string note_of(const operator_node& x) {
    if (x.op == "image_folder")
      return counted(x.data->get()->size(), "record") + " in "
             + std::to_string(class_names(x.get<std::string>("directory")).size()) + " classes";
    if (x.data)
      return counted(x.data->get()->size(), "record");
    if (x.stream)
      return counted(x.stream->get()->units(), "unit");
    if (x.feed)
      return x.feed->get()->has_journal() ? "once, with a journal" : "once, without a journal";
    return {};
  }

  /// `item`: bytes of one that it gives.
  void keep_state(const operator_node& x, std::optional<std::uint64_t> item, plan_step& to) const {
    const auto& state = state_of(x);
    to.state = state.what;
    to.state_bytes = state.bytes + place_bytes(x) + to.rounds.size() * bytes_of_edge;
    if (x.op == "shuffle_buffer") {
      const auto held = share(x.get<std::uint64_t>("n"), 0, lanes_);
      to.state = "up to " + counted(held, "item");
      to.state_bytes = item ? std::optional{*to.state_bytes + held * (*item + 1)} : std::nullopt;
    } else if (x.op == "mix") {
      *to.state_bytes += x.inputs.size() * bytes_of_share;
    } else if (x.op == "flat_map" || x.op == "zip") {
      to.state_bytes = plus(to.state_bytes, item);
    } else if (x.op == "pack") {
      to.state = "documents of " + counted(x.get<std::uint64_t>("bins"), "open sample");
      to.state_bytes.reset();
    } else if (x.op == "scan") {
      to.state_bytes.reset();
    }
  }

  const sample_graph& plan_;
  std::uint64_t lanes_;
  std::vector<plan_round> rounds_;
};

} // namespace

std::uint64_t plan_graph::lane_bytes() const noexcept {
  if (is_indexed())
    return 0;
  auto bytes = rounds.size() * bytes_around_round;
  for (const auto& round : rounds)
    for (const auto& step : round.iterator)
      bytes += step.state_bytes.value_or(0);
  return bytes;
}

std::vector<std::string> plan_graph::of_unknown_size() const {
  std::vector<std::string> calls;
  for (const auto& round : rounds)
    for (const auto& step : round.iterator)
      if (!step.state.empty() && !step.state_bytes)
        calls.push_back(step.call);
  return calls;
}

std::vector<std::uint64_t> plan_graph::world_sizes() const {
  if (is_indexed())
    return {};
  std::vector<std::uint64_t> divisors;
  for (std::uint64_t i = 1; i <= shape.lanes / i; ++i)
    if (shape.lanes % i == 0) {
      divisors.push_back(i);
      if (i != shape.lanes / i)
        divisors.push_back(shape.lanes / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

plan_graph graph_of(const pipeline& x) {
  const auto [shape, samples] = plan_epochs(x);
  plan_graph graph{.batch = short_call(x.root()), .shape = shape};
  graph.rounds = graph_builder{*samples, shape.lanes}.build(*x.root().inputs.front());
  for (const auto& feed : samples->feeds)
    if (!feed->has_journal())
      graph.unkept.push_back(feed->name());
  return graph;
}

} // namespace leat
