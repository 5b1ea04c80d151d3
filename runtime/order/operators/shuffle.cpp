#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/order_cache.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <leat/source.hpp>

#include <utility>

namespace leat {

namespace {

/// A windowed shuffle works on a source's files, so no operator between them may change which items
/// there are.
bool is_source_with_maps(const operator_node& x) {
  return x.is_source() || (type_of(x).traits.is_map && is_source_with_maps(*x.inputs.front()));
}

/// The source that a windowed shuffle reads: the only one below it.
const operator_node& only_source(const operator_node& x) {
  return x.is_source() ? x : only_source(*x.inputs.front());
}

bool is_windowed(const operator_node& shuffle) {
  return value_of(shuffle, "kind", shuffle_kinds) == shuffle_kind::windowed;
}

} // namespace

pipeline pipeline::shuffle(shuffle_options options) const {
  if (options.window == 0)
    refuse_argument("shuffle.window", "0", "at least 1");
  if (options.kind == shuffle_kind::windowed && !is_source_with_maps(*root_))
    refuse_argument("shuffle", "kind windowed after " + root_->op,
                    "a source as its input, with only maps in between");
  return then({.op = "shuffle",
               .options = {{"seed", options.seed},
                           {"kind", word_of(options.kind, shuffle_kinds)},
                           {"window", options.window}}});
}

namespace {

class shuffled final : public indexed_over {
public:
  shuffled(indexed_form_ptr input, std::size_t number, std::shared_ptr<const order_config> config)
      : indexed_over(std::move(input)), number_(number), orders_(std::move(config)) {}

protected:
  place source_of(const place& at, order_cache& orders) const override {
    return {orders.record(number_, orders_, at.epoch, at.pass, at.item), at.epoch, at.pass};
  }

private:
  std::size_t number_;
  mutable shared_orders orders_;
};

indexed_form_ptr shuffle_indexed(const operator_node& x, indexed_inputs inputs,
                                 indexed_planner& planner) {
  const auto kind = value_of(x, "kind", shuffle_kinds);
  const auto seed = x.get<std::uint64_t>("seed");
  auto& input = inputs.items.front();
  planner.see_seed(seed);
  const auto level = planner.add_shuffle_above(inputs.first_source);
  if (kind == shuffle_kind::none)
    return std::move(input);
  auto config = std::make_shared<order_config>();
  config->shuffle = {seed, kind, x.get<std::uint64_t>("window")};
  config->lanes = planner.lanes();
  config->data_digest = data_digest(x);
  config->source = inputs.first_source;
  config->level = level;
  config->records_per_file = kind == shuffle_kind::windowed
                                 ? only_source(x).data->get()->records_per_file()
                                 : std::vector{input->size()};
  return std::make_shared<shuffled>(std::move(input), planner.add_shuffle(), std::move(config));
}

/// A shuffle has no iterator: an input that is not indexed is refused.
iterator_form_ptr build_shuffle(const operator_node& x, const surroundings& at,
                                iterator_planner& planner) {
  auto input = planner.build_input(x, at);
  planner.refuse(x, "a stream, or an operator that drops, keeps back or makes items",
                 "indexed data as its input; see shuffle_buffer");
  return input;
}

/// The kind of shuffle, with the window if it has a meaning.
std::string kind_text(const operator_facts& x) {
  auto kind = x.get<std::string>("kind");
  if (kind != "windowed")
    return kind;
  return kind + " over " + std::to_string(x.get<std::uint64_t>("window")) + " files";
}

std::vector<option_difference> differences_of_shuffles(const operator_facts& before,
                                                       const operator_facts& now) {
  std::vector<option_difference> found;
  const auto seed_before = before.get<std::uint64_t>("seed");
  const auto seed_now = now.get<std::uint64_t>("seed");
  if (seed_before != seed_now)
    found.push_back({"seed", std::to_string(seed_before), std::to_string(seed_now)});
  if (kind_text(before) != kind_text(now))
    found.push_back({"shuffle", kind_text(before), kind_text(now)});
  return found;
}

} // namespace

operator_type shuffle_operator() {
  return {.word = "shuffle",
          .role = operator_role::step,
          .options = {{"seed", option_type::number, std::uint64_t{0}},
                      one_of("kind", shuffle_kinds, shuffle_kind::full),
                      {"window", option_type::number, std::uint64_t{4}}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].shuffle({.seed = call.get<std::uint64_t>("seed"),
                                      .kind = value_of(call, "kind", shuffle_kinds),
                                      .window = call.get<std::uint64_t>("window")});
              },
          .traits = {.files_for_lanes = [](const operator_node& x) -> std::optional<std::uint64_t> {
            if (!is_windowed(x))
              return std::nullopt;
            return only_source(x).data->get()->records_per_file().size();
          }},
          .forms = {.indexed = shuffle_indexed, .iterator = build_shuffle},
          .comparison = {.differences = differences_of_shuffles,
                         .binds_lanes = [](const operator_facts& x) {
                           return x.get<std::string>("kind") == "windowed";
                         }}};
}

} // namespace leat
