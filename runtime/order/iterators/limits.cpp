#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/iterators/over_input.hpp"

namespace leat {

namespace {

/// take and skip: counts items up to the lane's share.
class counting_iterator : public iterator_over {
public:
  counting_iterator(std::unique_ptr<iterator> input, std::uint64_t most)
      : iterator_over(std::move(input)), most_(most) {}

  void save(item& to) const final {
    to.add(count_);
    iterator_over::save(to);
  }
  void load(item_reader& from) final {
    count_ = from.number(most_, "item");
    iterator_over::load(from);
  }

protected:
  bool full() const noexcept { return count_ == most_; }
  void count() noexcept { ++count_; }

private:
  std::uint64_t most_;
  std::uint64_t count_ = 0;
};

class take_iterator final : public counting_iterator {
public:
  using counting_iterator::counting_iterator;

  pulled pull(item& into) override {
    if (full())
      return pulled::end;
    const auto result = input().pull(into);
    if (result == pulled::item)
      count();
    return result;
  }
};

class skip_iterator final : public counting_iterator {
public:
  skip_iterator(std::unique_ptr<iterator> input, std::uint64_t most, const lane_context& lane)
      : counting_iterator(std::move(input), most), lane_(lane) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    while (!full()) {
      const auto result = input().pull(into);
      into.cut(begin);
      if (result != pulled::item)
        return result;
      count();
      if (!lane_.run->may_go_on())
        return pulled::blocked;
    }
    return input().pull(into);
  }

private:
  lane_context lane_;
};

class limit_form : public over_items {
public:
  limit_form(iterator_form_ptr input, std::uint64_t n) : over_items(std::move(input)), n_(n) {}

protected:
  std::uint64_t share_of(const lane_context& lane) const {
    return share(n_, lane.lane, lane.lanes);
  }

private:
  std::uint64_t n_;
};

class take_form final : public limit_form {
public:
  using limit_form::limit_form;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<take_iterator>(input().begin(lane, g), share_of(lane));
  }
};

class skip_form final : public limit_form {
public:
  using limit_form::limit_form;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<skip_iterator>(input().begin(lane, g), share_of(lane), lane);
  }
};

} // namespace

iterator_form_ptr first_items(iterator_form_ptr input, std::uint64_t n) {
  return std::make_shared<take_form>(std::move(input), n);
}

iterator_form_ptr items_after(iterator_form_ptr input, std::uint64_t n) {
  return std::make_shared<skip_form>(std::move(input), n);
}

} // namespace leat
