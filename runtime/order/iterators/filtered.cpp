#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/iterators/over_input.hpp"

namespace leat {

namespace {

/// Judges ids in the iterator itself.
class id_filter_iterator final : public iterator_over {
public:
  id_filter_iterator(std::unique_ptr<iterator> input, const iterator_form& items,
                     const filter_stage& filter, const std::string& name, std::size_t shuffles,
                     const lane_context& lane, const lap& g)
      : iterator_over(std::move(input)), items_(items), filter_(filter), name_(name),
        lane_(lane), at_{lane.lane, lane.lanes, g}, orders_(shuffles) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    do {
      into.cut(begin);
      const auto result = input().pull(into);
      if (result != pulled::item || keeps(into, begin))
        return result;
    } while (lane_.run->may_go_on());
    into.cut(begin);
    return pulled::blocked;
  }

private:
  bool keeps(const item& x, std::size_t begin) {
    id_.clear();
    item_reader reader{std::string_view{x.bytes()}.substr(begin)};
    const auto call = lane_.run->call(name_, lane_.lane);
    items_.append_id(reader, at_, orders_, id_);
    return filter_.of_id(id_);
  }

  const iterator_form& items_;
  const filter_stage& filter_;
  const std::string& name_;
  lane_context lane_;
  item_place at_;
  order_cache orders_;
  std::string id_;
};

class id_filter_form final : public over_items {
public:
  id_filter_form(iterator_form_ptr input, std::shared_ptr<const filter_stage> filter,
                 std::size_t shuffles)
      : over_items(std::move(input)), filter_(std::move(filter)), name_("filter " + filter_->name),
        shuffles_(shuffles) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<id_filter_iterator>(input().begin(lane, g), input(), *filter_, name_,
                                                shuffles_, lane, g);
  }

private:
  std::shared_ptr<const filter_stage> filter_;
  std::string name_;
  std::size_t shuffles_;
};

/// Takes over what workers judged.
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

} // namespace

iterator_form_ptr filtered_by_id(iterator_form_ptr input,
                                 std::shared_ptr<const filter_stage> filter, std::size_t shuffles) {
  return std::make_shared<id_filter_form>(std::move(input), std::move(filter), shuffles);
}

iterator_form_ptr filtered(edge_ptr input) {
  return std::make_shared<content_filter_form>(std::move(input));
}

} // namespace leat
