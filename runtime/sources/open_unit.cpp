#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/streams.hpp>

#include <utility>

namespace leat {

namespace {

/// The samples of one unit, for a program that reads without a loader.
class unit_samples final : public sequential_reader {
public:
  unit_samples(std::shared_ptr<const stream_source> data, std::uint64_t unit)
      : data_(std::move(data)), records_(data_->open(unit, {})) {}

  bool next(sample& into) override {
    if (!records_->next(record_))
      return false;
    data_->read(record_, into);
    return true;
  }

private:
  std::shared_ptr<const stream_source> data_;
  std::unique_ptr<unit_reader> records_;
  stream_record record_;
};

} // namespace

std::unique_ptr<sequential_reader> open_unit(const pipeline& x, std::uint64_t unit) {
  if (!x.root().stream)
    refuse_argument("open_unit", shape_of(operators_of(x)),
                    "a source that is read in sequence, and nothing after it");
  auto data = x.root().stream->get();
  if (unit >= data->units())
    refuse_argument("open_unit", "unit " + std::to_string(unit),
                    "below " + std::to_string(data->units()) + ", the number of units");
  return std::make_unique<unit_samples>(std::move(data), unit);
}

} // namespace leat
