#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/iterators/stages.hpp"

namespace leat {

namespace {

/// take and skip: counts items up to the lane's share.
class counting_program : public program_over {
public:
  counting_program(std::unique_ptr<program> input, std::uint64_t most)
      : program_over(std::move(input)), most_(most) {}

  void save(item& to) const final {
    to.add(count_);
    program_over::save(to);
  }
  void load(item_reader& from) final {
    count_ = from.number(most_, "item");
    program_over::load(from);
  }

protected:
  bool full() const noexcept { return count_ == most_; }
  void count() noexcept { ++count_; }

private:
  std::uint64_t most_;
  std::uint64_t count_ = 0;
};

class take_program final : public counting_program {
public:
  using counting_program::counting_program;

  pulled pull(item& into) override {
    if (full())
      return pulled::end;
    const auto result = input().pull(into);
    if (result == pulled::item)
      count();
    return result;
  }
};

class skip_program final : public counting_program {
public:
  skip_program(std::unique_ptr<program> input, std::uint64_t most, const lane_context& lane)
      : counting_program(std::move(input), most), lane_(lane) {}

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

class limit_stage : public over_items {
public:
  limit_stage(item_stage_ptr input, std::uint64_t n) : over_items(std::move(input)), n_(n) {}

protected:
  std::uint64_t share_of(const lane_context& lane) const {
    return share(n_, lane.lane, lane.lanes);
  }

private:
  std::uint64_t n_;
};

class take_stage final : public limit_stage {
public:
  using limit_stage::limit_stage;

  std::unique_ptr<program> begin(const lane_context& lane, const generation& g) const override {
    return std::make_unique<take_program>(input().begin(lane, g), share_of(lane));
  }
};

class skip_stage final : public limit_stage {
public:
  using limit_stage::limit_stage;

  std::unique_ptr<program> begin(const lane_context& lane, const generation& g) const override {
    return std::make_unique<skip_program>(input().begin(lane, g), share_of(lane), lane);
  }
};

} // namespace

item_stage_ptr first_items(item_stage_ptr input, std::uint64_t n) {
  return std::make_shared<take_stage>(std::move(input), n);
}

item_stage_ptr items_behind(item_stage_ptr input, std::uint64_t n) {
  return std::make_shared<skip_stage>(std::move(input), n);
}

} // namespace leat
