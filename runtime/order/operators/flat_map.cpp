#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/sample/sample_access.hpp"

#include <array>
#include <span>
#include <utility>

namespace leat {

pipeline pipeline::flat_map(flat_map_stage x) const {
  check_function_name("flat_map", x.name);
  check_function(x.name, x.make);
  auto next = calling("flat_map", x.name, x.parameters);
  next.flat_map = std::make_shared<const flat_map_stage>(std::move(x));
  return then(std::move(next));
}

namespace {

/// Counts the children of each item without probing it.
class counted_input {
public:
  counted_input(std::unique_ptr<iterator> input, std::uint64_t children)
      : input_(std::move(input)), children_(children) {}

  pulled pull(item& into, std::uint64_t& children) {
    children = children_;
    return input_->pull(into);
  }
  void save(item& to) const { input_->save(to); }
  void load(item_reader& from) { input_->load(from); }
  bool may_have(std::uint64_t children) const { return children == children_; }

private:
  std::unique_ptr<iterator> input_;
  std::uint64_t children_;
};

/// Takes the counts that workers found.
class probed_input {
public:
  explicit probed_input(edge_iterator input) : input_(input) {}

  pulled pull(item& into, std::uint64_t& children) {
    probe_result found;
    const auto result = input_.pull(into, found);
    children = found.bad ? 1 : found.number;
    return result;
  }
  void save(item& to) const { input_.save(to); }
  void load(item_reader& from) { input_.load(from); }
  /// Picking a child that does not exist throws.
  bool may_have(std::uint64_t) const { return true; }

private:
  edge_iterator input_;
};

/// Form: iterator_form or edge_form.
template <class Input, class Form>
class children_iterator final : public iterator {
public:
  children_iterator(Input input, const Form& parents, const lane_context& lane)
      : input_(std::move(input)), parents_(parents), lane_(lane) {}

  pulled pull(item& into) override {
    while (next_ >= children_) {
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      item parent;
      std::uint64_t children = 0;
      const auto result = input_.pull(parent, children);
      if (result != pulled::item)
        return result;
      parent_ = std::move(parent);
      children_ = children;
      next_ = 0;
    }
    into.add(next_++);
    into.append(parent_);
    return pulled::item;
  }
  void save(item& to) const override {
    input_.save(to);
    to.add(children_ - next_);
    if (next_ == children_)
      return;
    to.add(next_);
    to.hold(parent_);
  }
  void load(item_reader& from) override {
    input_.load(from);
    children_ = from.number();
    if (children_ == 0)
      return;
    next_ = from.number(UINT64_MAX - children_, "child");
    children_ += next_;
    if (!input_.may_have(children_))
      refuse_state("an item of " + std::to_string(children_) + " children",
                   "as many as the others");
    parent_ = held_item(parents_, from);
  }

private:
  Input input_;
  const Form& parents_;
  lane_context lane_;
  item parent_;
  std::uint64_t children_ = 0;
  std::uint64_t next_ = 0;
};

template <class Input>
class children_form : public over_numbered<Input> {
public:
  children_form(std::shared_ptr<const Input> input, std::size_t number)
      : over_numbered<Input>(std::move(input)), number_(number) {}

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    const auto child = from.number();
    const auto make = [&] { return over_input<Input>::make(from, at, into, with); };
    const auto sample_key = child == 0 ? make() : with.make_again(make);
    with.pick(number_, child, into);
    identify(into, *this, start, at, with.orders());
    const std::array<std::uint64_t, 3> words{sample_key, child, 1};
    return with.needs_sample_keys() ? xxh3_128(std::as_bytes(std::span{words})).low : 0;
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    const auto child = from.number();
    over_input<Input>::append_id(from, at, orders, to);
    to += '#' + std::to_string(child);
  }

private:
  std::size_t number_;
};

class counted_children final : public children_form<iterator_form> {
public:
  counted_children(iterator_form_ptr input, std::uint64_t children, std::size_t number)
      : children_form(std::move(input), number), children_(children) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<children_iterator<counted_input, iterator_form>>(
        counted_input{input().begin(lane, g), children_}, input(), lane);
  }

private:
  std::uint64_t children_;
};

class probed_children final : public children_form<edge_form> {
public:
  using children_form::children_form;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<children_iterator<probed_input, edge_form>>(
        probed_input{input().begin(lane, g)}, input(), lane);
  }
};

field_names fields_of_flat_map(const operator_node& x, std::vector<field_names>& inputs) {
  const auto& name = x.get<std::string>("name");
  const bool is_own =
      name == "copies@1" || name == "split@1" || name == "windows@1" || name == "chunks@1";
  return is_own ? std::move(inputs.front()) : field_names{};
}

iterator_form_ptr build_flat_map(const operator_node& x, const surroundings& at,
                                 iterator_planner& planner) {
  auto& flat_maps = planner.result().flat_maps;
  const auto number = flat_maps.size();
  flat_maps.push_back(x.flat_map);
  if (const auto children = x.flat_map->children)
    return std::make_shared<counted_children>(planner.build_input(x, at), *children, number);
  return std::make_shared<probed_children>(
      planner.build_edge(x, at,
                         [number](sample& s, sample_maker& with) {
                           return probe_result{.number = with.flat_map(number).count(s)};
                         }),
      number);
}

} // namespace

operator_type flat_map_operator() {
  return {.word = "flat_map",
          .role = operator_role::step,
          .options = function_options(),
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].flat_map(function_of(call, make_flat_map));
              },
          .traits = {.probes_content = [](const operator_node& x) { return !x.flat_map->children; },
                     .sure_fields = fields_of_flat_map},
          .forms = {.iterator = build_flat_map, .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
                      const auto child = plus(facts.item, 1);
                      return {"parent, and next child", plus(child, 2), child};
                    },
                    .work = name_of}};
}

} // namespace leat
