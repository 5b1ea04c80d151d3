#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/iterators/over_input.hpp"

#include <string_view>
#include <vector>

namespace leat {

namespace {

class buffer_iterator final : public iterator_over {
public:
  buffer_iterator(std::unique_ptr<iterator> input, std::uint64_t capacity, const draws& draws)
      : iterator_over(std::move(input)), capacity_(capacity), draws_(draws) {}

  pulled pull(item& into) override {
    while (!ended_ && order_.size() < capacity_) {
      item next;
      const auto result = input().pull(next);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      if (!ended_)
        hold(std::move(next));
    }
    if (order_.empty())
      return pulled::end;
    const auto drawn =
        order_.begin() + static_cast<std::ptrdiff_t>(draws_.below(order_.size(), k_++));
    into.append(held_[*drawn]);
    free_.push_back(*drawn);
    held_[*drawn].clear();
    order_.erase(drawn);
    return pulled::item;
  }

  void save(item& to) const override {
    to.add(k_);
    to.add(ended_ ? 1 : 0);
    to.add(order_.size());
    for (const auto i : order_)
      to.hold(held_[i]);
    iterator_over::save(to);
  }

  void load(item_reader& from) override {
    k_ = from.number();
    ended_ = from.number(1) == 1;
    for (auto left = from.number(capacity_, "a buffer of"); left > 0; --left)
      hold(from.held());
    iterator_over::load(from);
  }

private:
  /// Memory is for references: samples that were made are made again.
  void hold(item x) {
    x.drop_payloads();
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(held_.size()));
      held_.emplace_back();
    }
    order_.push_back(free_.back());
    free_.pop_back();
    held_[order_.back()] = std::move(x);
  }

  std::uint64_t capacity_;
  draws draws_;
  std::uint64_t k_ = 0;
  bool ended_ = false;
  std::vector<item> held_;
  /// Indices of those held, as they came: moving up is cheap.
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> free_;
};

class buffer_form final : public over_items {
public:
  buffer_form(iterator_form_ptr input, std::uint64_t n, std::uint64_t seed, std::uint64_t ordinal)
      : over_items(std::move(input)), n_(n), seed_(seed), ordinal_(ordinal) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<buffer_iterator>(
        input().begin(lane, g), share(n_, lane.lane, lane.lanes),
        draws{"shuffle_buffer", seed_, ordinal_, g, lane.lane});
  }

private:
  std::uint64_t n_;
  std::uint64_t seed_;
  std::uint64_t ordinal_;
};

} // namespace

iterator_form_ptr shuffled_by_buffer(iterator_form_ptr input, std::uint64_t n, std::uint64_t seed,
                                     std::uint64_t ordinal) {
  return std::make_shared<buffer_form>(std::move(input), n, seed, ordinal);
}

} // namespace leat
