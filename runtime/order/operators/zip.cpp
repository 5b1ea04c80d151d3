#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sample/sample_access.hpp"

#include <algorithm>
#include <utility>

namespace leat {

pipeline zip(std::vector<pipeline> inputs) {
  return pipeline::join({.op = "zip"}, std::move(inputs));
}

namespace {

class zipped final : public indexed_form {
public:
  /// Inputs after the first use side samples from `first_side` on.
  zipped(std::vector<indexed_form_ptr> inputs, std::size_t first_side)
      : inputs_(std::move(inputs)), first_side_(first_side) {}

  std::uint64_t size() const noexcept override {
    auto size = inputs_.front()->size();
    for (const auto& x : inputs_)
      size = std::min(size, x->size());
    return size;
  }

  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    for (char before = '('; const auto& x : inputs_) {
      to += before;
      x->append_id(at, orders, to);
      before = '+';
    }
    to += ')';
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    hash_stream sample_keys;
    sample_keys.add(inputs_.front()->make(at, into, with));
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      auto& side = with.side_sample(first_side_ + i - 1);
      sample_keys.add(inputs_[i]->make(at, side, with));
      sample_access::lend(side, into);
    }
    identify(into, *this, at, with.orders());
    return with.needs_sample_keys() ? sample_keys.digest64() : 0;
  }

private:
  std::vector<indexed_form_ptr> inputs_;
  std::size_t first_side_;
};

using iterators = std::vector<std::unique_ptr<iterator>>;

iterators begin_all(const std::vector<iterator_form_ptr>& inputs, const lane_context& lane,
                    const lap& g) {
  iterators result;
  result.reserve(inputs.size());
  for (const auto& x : inputs)
    result.push_back(x->begin(lane, g));
  return result;
}

class zip_iterator final : public iterator {
public:
  zip_iterator(const std::vector<iterator_form_ptr>& of, const lane_context& lane, const lap& g)
      : of_(of), inputs_(begin_all(of, lane, g)) {}

  pulled pull(item& into) override {
    while (!ended_ && have_ < inputs_.size()) {
      const auto result = inputs_[have_]->pull(partial_);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      ++have_;
    }
    if (ended_)
      return pulled::end;
    into.append(partial_);
    partial_.clear();
    have_ = 0;
    return pulled::item;
  }
  void save(item& to) const override {
    to.add(ended_ ? 1 : 0);
    to.add(have_);
    to.hold(partial_);
    for (const auto& x : inputs_)
      x->save(to);
  }
  void load(item_reader& from) override {
    ended_ = from.number(1) == 1;
    have_ = from.number(inputs_.size() - (ended_ ? 0 : 1), "input");
    partial_ = recalled(from.held(), [&](item_reader& held, restored_content& found) {
      // An input that has ended counts, and has given nothing; what others gave is never needed.
      for (std::size_t i = 0; i < have_ && !ended_; ++i)
        of_[i]->recall(held, found);
    });
    for (const auto& x : inputs_)
      x->load(from);
  }

private:
  const std::vector<iterator_form_ptr>& of_;
  iterators inputs_;
  /// Items of the first `have_` inputs, which came while another was awaited.
  item partial_;
  std::size_t have_ = 0;
  bool ended_ = false;
};

class zip_form final : public iterator_form {
public:
  zip_form(std::vector<iterator_form_ptr> inputs, std::size_t first_side)
      : inputs_(std::move(inputs)), first_side_(first_side) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<zip_iterator>(inputs_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    hash_stream sample_keys;
    sample_keys.add(inputs_.front()->make(from, at, into, with));
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      auto& side = with.side_sample(first_side_ + i - 1);
      sample_keys.add(inputs_[i]->make(from, at, side, with));
      sample_access::lend(side, into);
    }
    identify(into, *this, start, at, with.orders());
    return with.needs_sample_keys() ? sample_keys.digest64() : 0;
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    for (char before = '('; const auto& x : inputs_) {
      to += std::exchange(before, '+');
      x->append_id(from, at, orders, to);
    }
    to += ')';
  }
  void recall(item_reader& from, restored_content& to) const override {
    for (const auto& x : inputs_)
      x->recall(from, to);
  }

private:
  std::vector<iterator_form_ptr> inputs_;
  std::size_t first_side_;
};

/// All fields of all inputs, in one sample.
field_names fields_of_zip(const operator_node&, std::vector<field_names>& inputs) {
  field_names all;
  for (const auto& input : inputs)
    for (const auto& name : input)
      if (!all.insert(name).second)
        refuse_argument("zip", "field \"" + name + "\" in two inputs",
                        "different names: rename one of them (rename@1)");
  return all;
}

indexed_form_ptr zip_indexed(const operator_node&, indexed_inputs inputs,
                             indexed_planner& planner) {
  const auto first_side = planner.add_side_samples(inputs.items.size() - 1);
  return std::make_shared<zipped>(std::move(inputs.items), first_side);
}

iterator_form_ptr build_zip(const operator_node& x, const surroundings& at,
                            iterator_planner& planner) {
  auto inputs = planner.build_inputs(x, at);
  const auto first_side = planner.common().add_side_samples(inputs.size() - 1);
  return std::make_shared<zip_form>(std::move(inputs), first_side);
}

} // namespace

operator_type zip_operator() {
  return {.word = "zip",
          .role = operator_role::join,
          .make = [](const operator_node&, const std::vector<pipeline>& on) { return zip(on); },
          .traits = {.joins_samples = true, .sure_fields = fields_of_zip},
          .forms = {.indexed = zip_indexed, .iterator = build_zip, .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
                      return {"items of a sample in the making", plus(facts.item, 3), facts.item};
                    },
                    .work = [](const operator_node& x) -> std::string { return x.op; }}};
}

} // namespace leat
