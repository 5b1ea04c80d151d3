#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/sample_access.hpp"

#include <utility>

namespace leat {

namespace {

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
  explicit zip_iterator(iterators inputs) : inputs_(std::move(inputs)) {}

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
    partial_ = from.held();
    for (const auto& x : inputs_)
      x->load(from);
  }

private:
  iterators inputs_;
  /// Of the first `have_` inputs, which came while another was awaited.
  item partial_;
  std::size_t have_ = 0;
  bool ended_ = false;
};

class zip_form final : public iterator_form {
public:
  zip_form(std::vector<iterator_form_ptr> inputs, std::size_t first_side)
      : inputs_(std::move(inputs)), first_side_(first_side) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<zip_iterator>(begin_all(inputs_, lane, g));
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

private:
  std::vector<iterator_form_ptr> inputs_;
  std::size_t first_side_;
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
  /// Only the input in use: files are opened when their turn comes.
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

private:
  const iterator_form& input_of(item_reader& from) const {
    return *inputs_[from.number(inputs_.size() - 1)];
  }

  std::vector<iterator_form_ptr> inputs_;
};

} // namespace

iterator_form_ptr zipped_items(std::vector<iterator_form_ptr> inputs, std::size_t first_side) {
  return std::make_shared<zip_form>(std::move(inputs), first_side);
}

iterator_form_ptr concatenated_items(std::vector<iterator_form_ptr> inputs) {
  return std::make_shared<concat_form>(std::move(inputs));
}

} // namespace leat
