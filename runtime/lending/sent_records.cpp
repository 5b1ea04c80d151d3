#include "runtime/lending/sent_records.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/value_bytes.hpp"
#include "runtime/order/plan_samples.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/sample/sample_access.hpp"

#include <functional>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t most_records = 65536;

/// A copy of the tree, in which `change` has changed each operator; inputs first.
operator_ptr changed(const operator_node& x, const std::function<void(operator_node&)>& change) {
  auto copy = x;
  for (auto& input : copy.inputs)
    input = changed(*input, change);
  change(copy);
  return std::make_shared<const operator_node>(std::move(copy));
}

/// A source of which only the records at hand can be read.
class sent_source final : public source {
public:
  sent_source(std::uint64_t ordinal, source_shape shape, std::shared_ptr<records_at_hand> records)
      : ordinal_(ordinal), shape_(std::move(shape)), records_(std::move(records)) {}

  std::uint64_t size() const override { return shape_.facts.records; }
  void read(std::uint64_t record, sample& into) const override {
    const auto* const x = records_->find(ordinal_, record);
    if (!x)
      throw_error(errc::not_found, shape_.name, "record " + std::to_string(record) + ", not sent",
                  "the records that the row reads");
    x->content->copy_to(into);
  }
  void append_id(std::uint64_t record, std::string& to) const override {
    if (const auto* const x = records_->find(ordinal_, record))
      to += x->id;
  }
  std::vector<std::uint64_t> records_per_file() const override { return shape_.records_per_file; }
  source_facts facts() const override { return shape_.facts; }
  std::string name() const override { return shape_.name; }

private:
  std::uint64_t ordinal_;
  source_shape shape_;
  std::shared_ptr<records_at_hand> records_;
};

/// Functions do nothing: what they do does not change which records a row reads, or the helper
/// finds that something is not there.
void leave_out_functions(operator_node& x) {
  if (x.op == "map" && !x.is_source()) {
    x.make = [] { return [](sample&, context&) {}; };
    x.make_together = {};
  }
  if (x.filter && x.filter->make) {
    auto filter = *x.filter;
    filter.make = [] { return [](sample&) { return true; }; };
    x.filter = std::make_shared<const filter_stage>(std::move(filter));
  }
  if (x.flat_map) {
    auto flat = *x.flat_map;
    flat.make = [] {
      return flat_map_function{[](sample&) -> std::uint64_t { return 1; },
                               [](sample&, std::uint64_t) {}};
    };
    x.flat_map = std::make_shared<const flat_map_stage>(std::move(flat));
  }
  if (x.scan) {
    auto scan = *x.scan;
    scan.make = [] {
      return scan_function{[](sample&) { return std::string{}; }, [](sample&, std::string_view) {}};
    };
    x.scan = std::make_shared<const scan_stage>(std::move(scan));
  }
}

} // namespace

bool records_at_hand::read(std::string_view bytes) try {
  records_.clear();
  has_lacked_ = false;
  value_reader from{bytes};
  for (auto left = from.count(5, most_records); left > 0; --left) {
    const auto ordinal = from.number();
    const auto number = from.number();
    auto& x = records_[{ordinal, number}];
    x.id = from.text();
    x.content = stored_sample::read(from);
  }
  from.end();
  return true;
} catch (const torn_value&) {
  records_.clear();
  return false;
}

const records_at_hand::record* records_at_hand::find(std::uint64_t source,
                                                     std::uint64_t number) noexcept {
  const auto found = records_.find({source, number});
  has_lacked_ = has_lacked_ || found == records_.end();
  return found == records_.end() ? nullptr : &found->second;
}

std::vector<source_shape> source_shapes(const pipeline& x) {
  std::vector<source_shape> shapes;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (!node.data)
      return;
    const auto data = node.data->get();
    shapes.push_back({data->name(), node.facts(), data->records_per_file()});
    shapes.back().facts.records = data->size();
  });
  return shapes;
}

pipeline with_records_at_hand(const pipeline& x, std::vector<source_shape> shapes,
                              std::shared_ptr<records_at_hand> records) {
  std::uint64_t ordinal = 0;
  return pipeline{changed(x.root(), [&](operator_node& node) {
    if (!node.is_source())
      return;
    if (ordinal >= shapes.size())
      refuse_argument("records", "fewer sources than the pipeline has", "those of the pipeline");
    auto data = std::make_shared<const sent_source>(ordinal, std::move(shapes[ordinal]), records);
    ++ordinal;
    node.data = std::make_shared<lazy_source>([data] { return data; });
  })};
}

/// What the row has read so far.
struct sent_record_reader::read_records {
  struct record {
    std::uint64_t source;
    std::uint64_t number;
    std::string id;
    std::shared_ptr<const stored_sample> content;
  };
  std::vector<record> all;
  /// Reading itself has failed.
  bool has_failed = false;

  /// Reads a source, and notes what it read.
  class noting_source final : public source {
  public:
    noting_source(std::uint64_t ordinal, std::shared_ptr<const source> from,
                  std::shared_ptr<read_records> notes)
        : ordinal_(ordinal), from_(std::move(from)), notes_(std::move(notes)) {}

    std::uint64_t size() const override { return from_->size(); }
    void read(std::uint64_t number, sample& into) const override {
      std::string id;
      from_->append_id(number, id);
      const auto note = [&](std::shared_ptr<const stored_sample> content) {
        notes_->all.push_back({ordinal_, number, std::move(id), std::move(content)});
      };
      try {
        from_->read(number, into);
      } catch (const bad_sample& problem) {
        note(stored_sample::of(problem));
        throw;
      } catch (...) {
        notes_->has_failed = true;
        throw;
      }
      note(stored_sample::of(into));
    }
    void append_id(std::uint64_t number, std::string& to) const override {
      from_->append_id(number, to);
    }
    std::vector<std::uint64_t> records_per_file() const override {
      return from_->records_per_file();
    }
    source_facts facts() const override { return from_->facts(); }
    std::string name() const override { return from_->name(); }

  private:
    std::uint64_t ordinal_;
    std::shared_ptr<const source> from_;
    std::shared_ptr<read_records> notes_;
  };
};

sent_record_reader::sent_record_reader(const pipeline& x, const job_plan& plan)
    : read_(std::make_shared<read_records>()), plan_(plan) {
  std::uint64_t ordinal = 0;
  const auto root = changed(*x.root().inputs.front(), [&](operator_node& node) {
    leave_out_functions(node);
    if (!node.is_source())
      return;
    auto data =
        std::make_shared<const read_records::noting_source>(ordinal++, node.data->get(), read_);
    node.data = std::make_shared<lazy_source>([data] { return data; });
  });
  plan_.samples = std::make_shared<const sample_graph>(plan_samples(*root, plan.shape.lanes));
}

std::optional<std::string> sent_record_reader::records_of(const row_request& row) {
  read_->all.clear();
  read_->has_failed = false;
  if (!maker_)
    maker_.emplace(maker_of(plan_, std::make_shared<worker_record>()));
  sample into;
  const auto lanes = plan_.shape.lanes;
  const item_place at{row.position % lanes, lanes, row.when};
  auto item = row.what;
  item.drop_payloads(); // samples that were kept here do not travel
  try {
    sample_access::reset(into, nullptr);
    if (row.edge)
      maker_->make_for_probe(*plan_.samples->edges[*row.edge].input, item, at, into);
    else if (plan_.shape.is_indexed)
      maker_->make({.item = row.own.item, .epoch = row.own.epoch}, row.position, into);
    else
      maker_->make(*plan_.samples->iterator, item, at, row.position, into);
  } catch (const bad_sample&) { // a record is bad, or lacks what a function would have made
  } catch (...) {
    read_->has_failed = true;
  }
  if (read_->has_failed)
    return std::nullopt;
  return bytes_written_by([&](value_writer& to) {
    to.number(read_->all.size());
    for (const auto& x : read_->all) {
      to.number(x.source);
      to.number(x.number);
      to.text(x.id);
      x.content->write(to);
    }
  });
}

} // namespace leat
