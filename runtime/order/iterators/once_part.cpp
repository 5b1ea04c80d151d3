#include "runtime/base/utf8.hpp"
#include "runtime/order/iterators/parts.hpp"
#include "runtime/order/sample_key.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/sample_access.hpp"

#include <utility>

namespace leat {

namespace {

/// Numbers of records have 63 bits.
std::uint64_t most_records_of_lane(std::uint64_t lanes) {
  return (std::uint64_t{1} << 63) / lanes - 1;
}

class once_iterator final : public iterator {
public:
  once_iterator(live_source& data, std::uint32_t feed, const lane_context& lane, const lap& g)
      : data_(data), feed_(feed), lane_(lane), exists_(g == lap{}) {}

  pulled pull(item& into) override {
    if (!exists_)
      return pulled::end;
    const auto number = next_record();
    switch (data_.peek(number)) {
    case live_source::state::ready:
      into.add(next_++);
      into.use({feed_, number, number + 1});
      return pulled::item;
    case live_source::state::pending:
      lane_.run->feed = &data_;
      lane_.run->record = number;
      return pulled::blocked;
    case live_source::state::ended:
      break;
    }
    return pulled::end;
  }
  void save(item& to) const override {
    to.add(next_);
    if (exists_)
      to.use({feed_, next_record(), next_ > 0 ? next_record() - lane_.lanes + 1 : 0});
  }
  void load(item_reader& from) override {
    next_ = from.number(most_records_of_lane(lane_.lanes), "record");
    if (next_ > 0)
      data_.check_holds(next_record(), next_record() - lane_.lanes + 1);
  }

private:
  std::uint64_t next_record() const noexcept { return lane_.lane + next_ * lane_.lanes; }

  live_source& data_;
  std::uint32_t feed_;
  lane_context lane_;
  /// False in later laps: there is no second time.
  bool exists_;
  std::uint64_t next_ = 0;
};

class once_form final : public iterator_form {
public:
  once_form(std::shared_ptr<live_source> data, std::uint32_t feed, std::size_t source)
      : data_(std::move(data)), feed_(feed), source_(source) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<once_iterator>(*data_, feed_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    const auto number = number_at(from, at);
    identify(into, *this, start, at, with.orders());
    with.read(source_, [&] { data_->read(number, into); });
    return with.needs_sample_keys() ? sample_key_of(source_, 0, 0, number) : 0;
  }
  void append_id(item_reader& from, const item_place& at, order_cache&,
                 std::string& to) const override {
    append_as_utf8(to, [&](std::string& id) { data_->append_id(number_at(from, at), id); });
  }
  void recall(item_reader& from, restored_content&) const override { from.number(); }

private:
  static std::uint64_t number_at(item_reader& from, const item_place& at) {
    return at.lane + from.number(most_records_of_lane(at.lanes), "record") * at.lanes;
  }

  std::shared_ptr<live_source> data_;
  std::uint32_t feed_;
  std::size_t source_;
};

} // namespace

iterator_form_ptr once_part(std::shared_ptr<live_source> data, std::uint32_t feed,
                            std::size_t source) {
  return std::make_shared<once_form>(std::move(data), feed, source);
}

} // namespace leat
