#include "runtime/order/iterator_planner.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>
#include <utility>

namespace leat {

pipeline concat(std::vector<pipeline> inputs) {
  return pipeline::join({.op = "concat"}, std::move(inputs));
}

namespace {

class concatenated final : public indexed_form {
public:
  explicit concatenated(std::vector<indexed_form_ptr> inputs) : inputs_(std::move(inputs)) {
    for (const auto& x : inputs_)
      begins_.push_back(begins_.back() + x->size());
  }

  std::uint64_t size() const noexcept override { return begins_.back(); }

  void append_id(const place& at, order_cache& orders, std::string& to) const override {
    const auto i = input_of(at);
    inputs_[i]->append_id(inside(at, i), orders, to);
  }

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto i = input_of(at);
    return inputs_[i]->make(inside(at, i), into, with);
  }
  stored_objects* locate(const place& at, order_cache& orders,
                         std::vector<extent>& into) const override {
    const auto i = input_of(at);
    return inputs_[i]->locate(inside(at, i), orders, into);
  }

private:
  /// The last input that begins at or before the item: empty ones begin where the next does.
  std::size_t input_of(const place& at) const {
    const auto behind = std::upper_bound(begins_.begin(), begins_.end(), at.item);
    return static_cast<std::size_t>(behind - begins_.begin()) - 1;
  }

  place inside(const place& at, std::size_t input) const {
    return {at.item - begins_[input], at.epoch, at.pass};
  }

  std::vector<indexed_form_ptr> inputs_;
  /// Number of the first item of each input, and the end of the last.
  std::vector<std::uint64_t> begins_{0};
};

class concat_iterator final : public iterator {
public:
  concat_iterator(const std::vector<iterator_form_ptr>& inputs, const lane_context& lane,
                  const lap& g)
      : inputs_(inputs), lane_(lane), when_(g) {
    begin();
  }

  pulled pull(item& into) override {
    const auto before = into.size();
    for (;;) {
      into.add(input_);
      const auto result = now_->pull(into);
      if (result == pulled::item)
        return result;
      into.cut(before);
      if (result == pulled::blocked || input_ + 1 == inputs_.size())
        return result;
      ++input_;
      begin();
    }
  }
  void save(item& to) const override {
    to.add(input_);
    now_->save(to);
  }
  void load(item_reader& from) override {
    input_ = from.number(inputs_.size() - 1);
    begin();
    now_->load(from);
  }

private:
  void begin() { now_ = inputs_[input_]->begin(lane_, when_); }

  const std::vector<iterator_form_ptr>& inputs_;
  lane_context lane_;
  lap when_;
  std::size_t input_ = 0;
  /// Only the input in use: files are opened when it is their turn.
  std::unique_ptr<iterator> now_;
};

class concat_form final : public iterator_form {
public:
  explicit concat_form(std::vector<iterator_form_ptr> inputs) : inputs_(std::move(inputs)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<concat_iterator>(inputs_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    return input_of(from).make(from, at, into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    input_of(from).append_id(from, at, orders, to);
  }
  void recall(item_reader& from, restored_content& to) const override {
    input_of(from).recall(from, to);
  }
  stored_objects* locate(item_reader& from, std::vector<extent>& into) const override {
    return input_of(from).locate(from, into);
  }

private:
  const iterator_form& input_of(item_reader& from) const {
    return *inputs_[from.number(inputs_.size() - 1)];
  }

  std::vector<iterator_form_ptr> inputs_;
};

} // namespace

operator_type concat_operator() {
  return {.word = "concat",
          .role = operator_role::join,
          .make = [](const operator_node&, const std::vector<pipeline>& on) { return concat(on); },
          .forms = {.indexed = [](const operator_node&, indexed_inputs inputs,
                                  indexed_planner&) -> indexed_form_ptr {
                      return std::make_shared<concatenated>(std::move(inputs.items));
                    },
                    .iterator = [](const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) -> iterator_form_ptr {
                      return std::make_shared<concat_form>(planner.build_inputs(x, at));
                    },
                    .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
            return {"which input", 1, plus(facts.item, 1)};
          }}};
}

} // namespace leat
