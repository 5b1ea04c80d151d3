#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/wire_format.hpp"
#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_jpegs.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/image/late_image.hpp"
#include "runtime/order/indexed_planner.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/lendable.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/pipeline_text.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/graph.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t bytes_of_edge = 4;
/// Bytes that a snapshot writes around the states of a round.
constexpr std::uint64_t bytes_around_round = 24;

/// The output of an operator.
struct item_flow {
  /// The step that gives it: a map is not a step.
  std::size_t step = 0;
  /// Bytes per item; empty if that depends on content.
  std::optional<std::uint64_t> bytes = 0;
};

/// Bytes of the inputs' items that a sample of the operator needs.
std::optional<std::uint64_t> item_below(const operator_type& type,
                                        const std::vector<item_flow>& inputs) {
  std::optional<std::uint64_t> bytes = 0;
  for (const auto& input : inputs)
    bytes = type.traits.joins_samples ? plus(bytes, input.bytes)
            : bytes && !input.bytes   ? std::nullopt
                                      : std::max(bytes, input.bytes);
  return bytes;
}

/// Follows the planner through the tree: rounds come in the order of its edges.
class graph_builder {
public:
  graph_builder(const sample_graph& plan, std::uint64_t lanes) : plan_(plan), lanes_(lanes) {}

  std::vector<plan_round> build(const operator_node& root) {
    plan_round last;
    add(root, last);
    rounds_.push_back(std::move(last));
    return std::move(rounds_);
  }

private:
  item_flow add(const operator_node& x, plan_round& to) {
    if (is_indexed(x))
      return add_indexed(x, to);
    if (probes_content(x))
      return add_probing(x, to);
    const auto& type = type_of(x);
    std::vector<item_flow> inputs;
    for (const auto& input : x.inputs)
      inputs.push_back(add(*input, to));
    add_work(x, to);
    if (type.traits.is_map)
      return inputs.front();
    plan_step step{.call = short_call(x), .note = note_of(x)};
    for (const auto& input : inputs)
      step.inputs.push_back(input.step);
    const auto bytes = keep_state(x, item_below(type, inputs), step);
    to.iterator.push_back(std::move(step));
    return {to.iterator.size() - 1, bytes};
  }

  /// Adds an indexed part, dealt to the lanes: its only state is how far each lane has come.
  item_flow add_indexed(const operator_node& x, plan_round& to) {
    const auto last = add_indexed_operator(x, to);
    const auto bytes = varint_bytes(share(size_of(x), 0, lanes_));
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
    if (is_map(x))
      return inputs.front();
    to.iterator.push_back({.call = short_call(x), .inputs = std::move(inputs), .note = note_of(x)});
    return to.iterator.size() - 1;
  }

  item_flow add_probing(const operator_node& x, plan_round& to) {
    const auto& type = type_of(x);
    plan_step step{.call = short_call(x)};
    std::vector<item_flow> inputs;
    for (const auto& input : x.inputs) {
      plan_round behind;
      inputs.push_back(add(*input, behind));
      behind.function.push_back("probe for " + name_of(x));
      step.rounds.push_back(rounds_.size());
      rounds_.push_back(std::move(behind));
      const bool kept = plan_.edges[step.rounds.back()].keeps_samples;
      if (!type.traits.replaces_samples)
        to.function.push_back("samples of round " + std::to_string(rounds_.size())
                              + (kept ? ", as they were made" : ", made again"));
    }
    add_work(x, to);
    auto below = item_below(type, inputs);
    if (!type.traits.replaces_samples) // whether the item was bad
      below = plus(below, 1);
    const auto bytes = keep_state(x, below, step);
    to.iterator.push_back(std::move(step));
    return {to.iterator.size() - 1, bytes};
  }

  /// Adds what workers do for it.
  static void add_work(const operator_node& x, plan_round& to) {
    if (x.is_source())
      to.function.push_back("read " + x.op);
    else if (const auto work = type_of(x).graph.work)
      to.function.push_back(work(x));
  }

  static std::string note_of(const operator_node& x) {
    if (const auto note = type_of(x).graph.note)
      return note(x);
    if (x.data)
      return counted(x.data->get()->size(), "record");
    if (x.stream)
      return counted(x.stream->get()->units(), "unit");
    if (x.op == "feed")
      return "once, in a process that serves it to all ranks";
    if (x.feed)
      return x.feed->get()->has_journal() ? "once, with a journal" : "once, without a journal";
    return {};
  }

  /// `below`: bytes of an input's item. Returns those of an item that it gives.
  std::optional<std::uint64_t> keep_state(const operator_node& x,
                                          std::optional<std::uint64_t> below, plan_step& to) const {
    const auto state = type_of(x).graph.state;
    if (!state)
      return below;
    const auto sizes = state(x, {.lanes = lanes_, .item = below});
    to.state = sizes.what;
    if (!to.state.empty())
      to.state_bytes = plus(sizes.bytes, to.rounds.size() * bytes_of_edge);
    return sizes.item;
  }

  const sample_graph& plan_;
  std::uint64_t lanes_;
  std::vector<plan_round> rounds_;
};

/// Where images are decoded whose batches go to a device, to follow the map's name; empty without
/// a device.
std::string decoding_place(const std::string& device, const std::string& decoder) {
  const auto gpu = parse_device(device, "device").gpu;
  if (!gpu)
    return "";
  if (decoder == "cpu")
    return ", on the processors";
  try {
    const auto calls = open_cuda(*gpu);
    calls->kernels();
    const auto place = "on cuda:" + std::to_string(*gpu);
    if (decoder != "nvjpeg")
      return ", of JPEGs with a row index " + place;
    (void)calls->open_jpegs();
    return ", of JPEGs by nvJPEG " + place;
  } catch (const error& problem) {
    if (decoder == "device" || decoder == "nvjpeg")
      throw;
    return ", on the processors: " + std::string{problem.what()};
  }
}

/// Where what workers do for rows is done instead; `sends_records`: the rank reads.
plan_cut cut_of(const plan_graph& x, bool sends_records) {
  plan_cut cut{.sent = sends_records ? "records" : "items"};
  for (const auto& round : x.rounds)
    for (const auto& work : round.function)
      (sends_records && work.starts_with("read ") ? cut.by_rank : cut.by_helper).push_back(work);
  return cut;
}

void add_cuts(const pipeline& x, const std::string& lend, plan_graph& to) {
  if (lend == "none") {
    to.not_lent = "lend is \"none\"";
    return;
  }
  if (lend != "auto" && lend != "items" && lend != "records")
    refuse_argument("lend", '"' + lend + '"', "\"auto\", \"items\", \"records\" or \"none\"");
  if (const auto why = reason_against_lending(x); !why.empty())
    to.not_lent = "the pipeline has " + why;
  else if (lend == "records" && !can_send_records(x))
    to.not_lent = "its records cannot be sent: not all of them are read by number";
  if (!to.not_lent.empty())
    return;
  if (lend != "records")
    to.cuts.push_back(cut_of(to, false));
  if (lend != "items" && can_send_records(x))
    to.cuts.push_back(cut_of(to, true));
}

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

plan_graph graph_of(const pipeline& x, const std::string& device, const std::string& decoder,
                    const std::string& lend) {
  const auto [shape, samples] = plan_epochs(x);
  plan_graph graph{.batch = short_call(x.root()), .epoch = facts_of(shape)};
  graph.rounds = graph_builder{*samples, shape.lanes}.build(*x.root().inputs.front());
  for (const auto& feed : samples->feeds)
    if (!feed->has_journal())
      graph.unkept.push_back(feed->name());
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (node.op != "feed")
      return;
    if (const auto name = node.get<std::string>("name");
        std::find(graph.feeds.begin(), graph.feeds.end(), name) == graph.feeds.end())
      graph.feeds.push_back(name);
  });
  graph.lane_limit = lane_limit(x.root());
  const auto place = decoding_place(device, decoder);
  for (auto& round : graph.rounds)
    for (auto& work : round.function)
      if (makes_image(work))
        work += place;
  add_cuts(x, lend, graph);
  return graph;
}

} // namespace leat
