#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"

#include <utility>

namespace leat {

pipeline pipeline::scan(scan_stage x) const {
  check_function_name("scan", x.name);
  check_function(x.name, x.make);
  check_function(x.name, x.step);
  auto next = calling("scan", x.name, x.parameters);
  next.scan = std::make_shared<const scan_stage>(std::move(x));
  return then(std::move(next));
}

namespace {

class scan_iterator final : public iterator {
public:
  scan_iterator(edge_iterator input, const scan_stage& scan, const std::string& name,
                const lane_context& lane)
      : input_(input), scan_(scan), name_(name), lane_(lane), state_(scan.initial) {}

  pulled pull(item& into) override {
    probe_result found;
    const auto result = input_.pull(into, found);
    if (result != pulled::item)
      return result;
    // After the item: the result is known only once the item is.
    if (found.bad) {
      into.add(std::string{});
      return result;
    }
    const auto call = lane_.run->call(name_, lane_.lane);
    into.add(scan_.step(state_, found.text));
    return result;
  }
  void save(item& to) const override {
    to.add(state_);
    input_.save(to);
  }
  void load(item_reader& from) override {
    state_ = from.text();
    input_.load(from);
  }

private:
  edge_iterator input_;
  const scan_stage& scan_;
  const std::string& name_;
  lane_context lane_;
  std::string state_;
};

class scanned_form final : public over_input<edge_form> {
public:
  scanned_form(edge_ptr input, std::shared_ptr<const scan_stage> scan, std::size_t number)
      : over_input(std::move(input)), scan_(std::move(scan)), name_("scan " + scan_->name),
        number_(number) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<scan_iterator>(input().begin(lane, g), *scan_, name_, lane);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto sample_key = over_input::make(from, at, into, with);
    with.apply(number_, from.text(), into); // not reached for a bad sample, which has thrown
    return sample_key;
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    over_input::append_id(from, at, orders, to);
    from.text();
  }
  void recall(item_reader& from, restored_content& to) const override {
    over_input::recall(from, to);
    from.text();
  }

private:
  std::shared_ptr<const scan_stage> scan_;
  std::string name_;
  std::size_t number_;
};

field_names fields_of_scan(const operator_node& x, std::vector<field_names>& inputs) {
  const auto& name = x.get<std::string>("name");
  if (name != "running_count@1" && name != "running_sum@1")
    return {};
  inputs.front().insert(parameter_value(x, "into"));
  return std::move(inputs.front());
}

/// The edge finds what the step function needs.
iterator_form_ptr build_scan(const operator_node& x, const surroundings& at,
                             iterator_planner& planner) {
  auto& scans = planner.result().scans;
  const auto number = scans.size();
  scans.push_back(x.scan);
  auto input = planner.build_edge(x, at, [number](sample& s, sample_maker& with) {
    return probe_result{.text = with.scan(number).look(s)};
  });
  return std::make_shared<scanned_form>(std::move(input), x.scan, number);
}

} // namespace

operator_type scan_operator() {
  return {.word = "scan",
          .role = operator_role::step,
          .options = function_options(),
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].scan(function_of(call, make_scan));
              },
          .traits = {.probes_content = [](const operator_node&) { return true; },
                     .sure_fields = fields_of_scan},
          .forms = {.iterator = build_scan, .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts&) -> state_sizes {
                      return {"what its function keeps", std::nullopt, std::nullopt};
                    },
                    .work = name_of}};
}

} // namespace leat
