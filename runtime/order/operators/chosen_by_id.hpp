#pragma once

// What operators have in common that keep samples just by their ids.

#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/order_cache.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

/// Keeps the items whose ids are chosen; no sample is read for that. It has no state of its own.
class choosing_iterator : public iterator_over {
public:
  /// References must outlive this. `name` is how a call that does not return is reported;
  /// `shuffles`: the number of shuffles below (see sample_graph::num_shuffles).
  choosing_iterator(std::unique_ptr<iterator> input, const iterator_form& items,
                    const std::string& name, std::size_t shuffles, const lane_context& lane,
                    const lap& g)
      : iterator_over(std::move(input)), items_(items), name_(name),
        lane_(lane), at_{lane.lane, lane.lanes, g}, orders_(shuffles) {}

  pulled pull(item& into) final {
    const auto begin = into.size();
    do {
      into.cut(begin);
      const auto result = input().pull(into);
      if (result != pulled::item || is_chosen(into, begin))
        return result;
    } while (lane_.run->may_go_on());
    into.cut(begin);
    return pulled::blocked;
  }

protected:
  virtual bool keeps(std::string_view id) = 0;

private:
  bool is_chosen(const item& x, std::size_t begin) {
    id_.clear();
    item_reader reader{std::string_view{x.bytes()}.substr(begin)};
    const auto call = lane_.run->call(name_, lane_.lane);
    items_.append_id(reader, at_, orders_, id_);
    return keeps(id_);
  }

  const iterator_form& items_;
  const std::string& name_;
  lane_context lane_;
  item_place at_;
  order_cache orders_;
  std::string id_;
};

} // namespace leat
