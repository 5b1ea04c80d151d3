#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterators/parts.hpp"
#include "runtime/order/iterators/recalled_records.hpp"
#include "runtime/order/iterators/record_item.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/sample_access.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Reads the lane's units, one after the other.
class stream_iterator final : public iterator {
public:
  stream_iterator(const stream_source& data, const std::string& name, const unit_order& order,
                  bool keeps_content, const lane_context& lane, const lap& g)
      : data_(data), name_(name), keeps_content_(keeps_content), lane_(lane),
        units_(share(order.units, lane.lane, lane.lanes)) {
    if (order.order)
      order_ = order.order->get(g.epoch, pass_word(g.pass));
  }

  pulled pull(item& into) override {
    while (unit_ < units_) {
      if (read()) {
        append(into);
        return pulled::item;
      }
      place_ = {};
      ++unit_;
    }
    return pulled::end;
  }

  void save(item& to) const override {
    const auto at = reader_ ? reader_->place() : place_;
    to.add(unit_);
    to.add(at.number);
    to.add(at.offset);
    to.add(at.restart);
  }

  void load(item_reader& from) override {
    unit_ = from.number(units_, "unit");
    place_.number = from.number();
    place_.offset = from.number();
    place_.restart = from.text();
    if (unit_ == units_ && !(place_ == stream_place{}))
      refuse_state("a place after the last unit", "one in a unit");
    // All lanes at the same time pass over what is before their places.
    if (unit_ < units_ && lane_.run->ahead && data_.is_unpacked(unit()))
      open();
  }

private:
  /// False at the end of the unit.
  bool read() {
    const auto call = lane_.run->call(name_, lane_.lane);
    if (!reader_)
      open();
    if (reader_->next(record_))
      return true;
    reader_.reset();
    return false;
  }

  void open() {
    reader_ =
        data_.open(unit(), place_, {.ahead = lane_.run->ahead, .surroundings = keeps_content_});
  }

  std::uint64_t unit() const {
    const auto j = lane_.lane + unit_ * lane_.lanes;
    return order_ ? order_->record(j) : j;
  }

  void append(item& into) {
    const auto begin = into.size();
    into.add(record_.unit);
    add_record(record_, into);
    if (record_.content)
      into.attach(begin, payload_of_source, std::move(record_.content));
    if (record_.surroundings && keeps_content_)
      into.attach(begin, payload_around, std::move(record_.surroundings));
    record_.content = nullptr;
    record_.surroundings = nullptr;
  }

  const stream_source& data_;
  const std::string& name_;
  bool keeps_content_;
  lane_context lane_;
  std::shared_ptr<const epoch_order> order_;
  /// Number of units of the lane.
  std::uint64_t units_;
  std::uint64_t unit_ = 0;
  /// Where reading the unit begins, while there is no reader.
  stream_place place_;
  std::unique_ptr<unit_reader> reader_;
  stream_record record_;
};

class stream_form final : public iterator_form {
public:
  stream_form(std::shared_ptr<const stream_source> data, unit_order order, std::size_t source,
              bool keeps_content)
      : data_(std::move(data)), name_("read " + data_->name()), order_(std::move(order)),
        source_(source), keeps_content_(keeps_content),
        read_([data = data_](const stream_record& x, const std::stop_token& stop) {
          return data->read_content(x, stop);
        }) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<stream_iterator>(*data_, name_, order_, keeps_content_, lane, g);
  }

  void add_files(std::uint64_t lane, std::uint64_t lanes, const lap& g,
                 std::vector<std::string>& to) const override {
    const auto order = order_.order ? order_.order->get(g.epoch, pass_word(g.pass)) : nullptr;
    for (auto j = lane; j < order_.units; j += lanes)
      if (auto file = data_->file_of_unit(order ? order->record(j) : j);
          !file.empty() && std::find(to.begin(), to.end(), file) == to.end())
        to.push_back(std::move(file));
  }

  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto start = from;
    auto record = record_of(from);
    identify(into, *this, start, at, with.orders());
    with.read(source_, [&] {
      record.content = content_of(std::move(record.content), sample_access::stop_of(into));
      data_->read(record, into);
    });
    if (!with.needs_sample_keys())
      return 0;
    const std::array<std::uint64_t, 5> words{source_, at.when.epoch, pass_word(at.when.pass),
                                             record.unit, record.number};
    return xxh3_128(std::as_bytes(std::span{words})).low;
  }

  void append_id(item_reader& from, const item_place&, order_cache&,
                 std::string& to) const override {
    append_as_utf8(to, [&](std::string& id) { data_->append_id(record_of(from), id); });
  }

  void recall(item_reader& from, restored_content& to) const override {
    const auto begin = from.place();
    auto record = record_of(from);
    if (!data_->is_found_in_sequence(record))
      return;
    const auto unit = std::to_string(record.unit);
    to.push_back({begin, from.place(), recalls_.add(unit, std::move(record), read_)});
  }

  stored_objects* locate(item_reader& from, std::vector<extent>& into) const override {
    return data_->locate(record_of(from), into);
  }

private:
  stream_record record_of(item_reader& from) const {
    auto content = from.find_payload(payload_of_source);
    auto around = from.find_payload(payload_around);
    const auto unit = from.number_below(order_.units, "unit");
    auto x = read_record(from);
    x.unit = unit;
    x.content = std::move(content);
    x.surroundings = std::move(around);
    return x;
  }

  std::shared_ptr<const stream_source> data_;
  std::string name_;
  unit_order order_;
  std::size_t source_;
  bool keeps_content_;
  recalled_records::reader read_;
  mutable recalled_records recalls_;
};

} // namespace

iterator_form_ptr stream_part(std::shared_ptr<const stream_source> data, unit_order order,
                              std::size_t source, bool keeps_content) {
  return std::make_shared<stream_form>(std::move(data), std::move(order), source, keeps_content);
}

} // namespace leat
