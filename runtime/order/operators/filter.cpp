#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/operators/chosen_by_id.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"

#include <utility>

namespace leat {

pipeline pipeline::filter(filter_stage x) const {
  check_function_name("filter", x.name);
  if (x.make && x.of_id)
    refuse_argument(x.name, "two functions", "one: of content, or of the id");
  if (!x.of_id)
    check_function(x.name, x.make);
  auto next = calling("filter", x.name, x.parameters);
  next.filter = std::make_shared<const filter_stage>(std::move(x));
  return then(std::move(next));
}

namespace {

/// Judges ids in the iterator itself.
class id_filter_iterator final : public choosing_iterator {
public:
  id_filter_iterator(std::unique_ptr<iterator> input, const iterator_form& items,
                     const std::string& name, const filter_stage& filter, std::size_t shuffles,
                     const lane_context& lane, const lap& g)
      : choosing_iterator(std::move(input), items, name, shuffles, lane, g), filter_(filter) {}

protected:
  bool keeps(std::string_view id) override { return filter_.of_id(id); }

private:
  const filter_stage& filter_;
};

class id_filter_form final : public over_items {
public:
  id_filter_form(iterator_form_ptr input, std::shared_ptr<const filter_stage> filter,
                 std::size_t shuffles)
      : over_items(std::move(input)), filter_(std::move(filter)), name_("filter " + filter_->name),
        shuffles_(shuffles) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<id_filter_iterator>(input().begin(lane, g), input(), name_, *filter_,
                                                shuffles_, lane, g);
  }

private:
  std::shared_ptr<const filter_stage> filter_;
  std::string name_;
  std::size_t shuffles_;
};

/// Uses the judgement of workers.
class filter_iterator final : public iterator {
public:
  filter_iterator(edge_iterator input, const lane_context& lane) : input_(input), lane_(lane) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    probe_result found;
    do {
      into.cut(begin);
      const auto result = input_.pull(into, found);
      if (result != pulled::item || found.bad || found.number != 0)
        return result;
    } while (lane_.run->may_go_on());
    into.cut(begin);
    return pulled::blocked;
  }
  void save(item& to) const override { input_.save(to); }
  void load(item_reader& from) override { input_.load(from); }

private:
  edge_iterator input_;
  lane_context lane_;
};

class content_filter_form final : public over_input<edge_form> {
public:
  using over_input::over_input;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<filter_iterator>(input().begin(lane, g), lane);
  }
};

/// A filter by id judges in the iterator; one by content needs an edge, which finds 1 for samples
/// that are kept.
iterator_form_ptr build_filter(const operator_node& x, const surroundings& at,
                               iterator_planner& planner) {
  auto& plan = planner.result();
  if (x.filter->of_id) {
    auto input = planner.build_input(x, at); // counts shuffles
    return std::make_shared<id_filter_form>(std::move(input), x.filter, plan.num_shuffles);
  }
  const auto number = plan.filters.size();
  plan.filters.push_back(x.filter);
  return std::make_shared<content_filter_form>(
      planner.build_edge(x, at, [number](sample& s, sample_maker& with) {
        return probe_result{.number = with.filter(number)(s) ? std::uint64_t{1} : 0};
      }));
}

} // namespace

operator_type filter_operator() {
  return {.word = "filter",
          .role = operator_role::step,
          .options = function_options(),
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].filter(function_of(call, make_predicate));
              },
          .traits = {.probes_content = [](const operator_node& x) { return !x.filter->of_id; }},
          .forms = {.iterator = build_filter, .state_version = 1},
          .graph = {.state = [](const operator_node& x, const graph_facts& facts) -> state_sizes {
            return {x.filter->of_id ? "" : "place in its input", 0, facts.item};
          }}};
}

} // namespace leat
