#include "runtime/rows/job_plan.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/order/plan_samples.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/row_runner.hpp"
#include "runtime/sample/field_errors.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/order.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Keeps the named fields; all of them if none is named.
std::vector<field_layout> select_fields(std::vector<field_layout> fields,
                                        const std::vector<std::string>& names) {
  if (names.empty())
    return fields;
  std::vector<field_layout> result;
  for (const auto& name : names) {
    auto found =
        std::find_if(fields.begin(), fields.end(), [&](const auto& x) { return x.name == name; });
    if (found == fields.end())
      throw bad_sample(cause::missing_field,
                       "batch field \"" + name + "\" is not in the sample; " + how_to_set(name));
    result.push_back(std::move(*found));
  }
  return result;
}

/// Learns a batch's fields from the first good sample that it is shown.
class layout_search {
public:
  explicit layout_search(const std::vector<std::string>& names) : names_(names) {}

  /// `make` makes a sample; `id` gives its id. False for a bad one.
  template <class Make, class Id>
  bool look(Make make, Id id) {
    try {
      sample x;
      make(x);
      found_ = std::make_shared<batch_layout>(select_fields(sample_access::fields(x), names_));
      return true;
    } catch (const bad_sample& problem) {
      if (tried_++ == 0) {
        problem_ = problem.what();
        first_ = id();
      }
      return false;
    }
  }

  bool goes_on() const noexcept { return !found_ && tried_ < tries; }

  std::shared_ptr<const batch_layout> result() const {
    if (found_ || tried_ == 0)
      return found_;
    throw error(errc::bad_sample, {.stage = "first samples",
                                   .sample = first_,
                                   .got = problem_,
                                   .needed = "a good one among the first " + std::to_string(tries)
                                             + ", to learn the batch's fields"});
  }

  static constexpr std::uint64_t tries = 256;

private:
  const std::vector<std::string>& names_;
  std::shared_ptr<const batch_layout> found_;
  std::uint64_t tried_ = 0;
  std::string first_;
  std::string problem_;
};

std::shared_ptr<worker_record> record_of(const doing& told) {
  return told.rows ? told.rows : std::make_shared<worker_record>();
}

/// Always searches epoch 0, wherever a job begins or resumes: the layout must not depend on that.
std::shared_ptr<const batch_layout> find_layout(const job_plan& plan, const doing& told) {
  const auto& names = plan.fields;
  const auto record = record_of(told);
  auto maker = maker_of(plan, record);
  layout_search search{names};
  for (std::uint64_t item = 0; search.goes_on() && item < plan.shape.items; ++item) {
    check_patience();
    search.look(
        [&](sample& x) {
          record->item.store(item, std::memory_order_relaxed);
          const busy_scope busy{*record};
          maker.make({.item = item}, item, x);
        },
        [&] {
          std::string id;
          plan.samples->items->append_id({.item = item}, maker.orders(), id);
          return id;
        });
  }
  return search.result();
}

/// Searches the first samples that a rank's iterators give.
void search_iterators(const std::shared_ptr<const job_plan>& plan, const epoch_geometry& shape,
                      std::uint64_t rank, std::uint64_t world_size, iterator_start start,
                      const doing& told, layout_search& search) {
  const auto record = record_of(told);
  start.calls = told.iterators;
  start.items_per_step = plan->shape.batch_rows / plan->shape.lanes;
  row_runner probes{plan, record};
  inline_order order{std::make_unique<iterator_order>(plan->samples, shape, rank, world_size,
                                                      start.at.epoch + 1, start),
                     probes};
  auto maker = maker_of(*plan, record);
  // A batch of nothing but blanks has no rows, and is not the last.
  const auto exists = [](const planned_batch& x) {
    return x.plan.what == batch_plan::kind::batch && x.plan.step < x.plan.horizon.batches;
  };
  const auto* batch = &order.next();
  while (search.goes_on() && exists(*batch)) {
    for (std::size_t i = 0; search.goes_on() && i < batch->rows; ++i) {
      const auto& row = batch->requests[i];
      const auto position = row.position;
      const item_place at{position % shape.lanes, shape.lanes, row.when};
      search.look(
          [&](sample& x) {
            record->item.store(position, std::memory_order_relaxed);
            const busy_scope busy{*record};
            maker.make(*plan->samples->iterator, row.what, at, position, x);
          },
          [&] {
            std::string id;
            item_reader reader{row.what};
            plan->samples->iterator->append_id(reader, at, maker.orders(), id);
            return id;
          });
    }
    if (search.goes_on()) // records that exist once may not come for long
      batch = &order.next();
  }
  if (batch->plan.what == batch_plan::kind::failed && search.goes_on())
    throw error(*batch->plan.failure);
}

/// Searches lane by lane, so that no more is read than necessary.
std::shared_ptr<const batch_layout> find_program_layout(job_plan plan, const doing& told) {
  const auto names = plan.fields;
  plan.layout = std::make_shared<batch_layout>();
  plan.bad_samples = bad_sample_policy::mask;
  auto shape = plan.shape;
  shape.batch_rows = shape.lanes;
  shape.end = epoch_end::mask;
  const auto shared = std::make_shared<const job_plan>(std::move(plan));
  layout_search search{names};
  for (std::uint64_t lane = 0; search.goes_on() && lane < shape.lanes; ++lane)
    search_iterators(shared, shape, lane, shape.lanes, {}, told, search);
  auto found = search.result();
  if (!found)
    throw_error(errc::empty_epoch, "batch", "no sample in epoch 0",
                "at least one, to learn the batch's fields");
  return found;
}

const operator_node& batch_of(const pipeline& x) {
  check_has_batch(x.root());
  check_tree_size(x.root());
  return x.root();
}

/// L. If data that L depends on cannot be opened, throws everything that is wrong with the
/// pipeline.
std::uint64_t lanes_to_plan(const operator_node& batch) {
  try {
    return lanes_of(batch);
  } catch (const error&) {
    plan_samples(*batch.inputs.front(), 1);
    throw;
  }
}

/// For errors: the first source's patterns; empty if it has none.
std::string data_of(const operator_node& x) {
  if (!x.is_source())
    return data_of(*x.inputs.front());
  for (const auto& option : x.options)
    if (const auto* patterns = std::get_if<std::vector<std::string>>(&option.value);
        patterns && option.name == "patterns")
      return first_of(*patterns);
  return {};
}

} // namespace

epoch_plan plan_epochs(const pipeline& x) {
  const auto& batch = batch_of(x);
  sure_fields(batch); // refuses what is wrong in every sample
  epoch_plan plan;
  plan.shape.lanes = lanes_to_plan(batch);
  plan.shape.batch_rows = batch.get<std::uint64_t>("rows");
  plan.shape.end = end_of(batch);
  plan.samples =
      std::make_shared<const sample_graph>(plan_samples(*batch.inputs.front(), plan.shape.lanes));
  plan.shape.is_indexed = plan.samples->is_indexed();
  if (plan.shape.is_indexed)
    plan.shape.items = plan.samples->items->size();
  return plan;
}

epoch_geometry shape_of(const pipeline& x) {
  return plan_epochs(x).shape;
}

void check_not_empty(const epoch_geometry& x, const pipeline& of) {
  if (!x.is_indexed)
    return; // learned on the way
  if (x.is_endless() && x.items < x.lanes)
    throw_file_error(errc::empty_epoch, "batch", data_of(of.root()),
                     std::to_string(x.items) + " samples for " + counted(x.lanes, "lane"),
                     "at least one per lane, to begin again");
  if (x.is_endless() || x.batches() != 0)
    return;
  throw_file_error(
      errc::empty_epoch, "batch", data_of(of.root()), std::to_string(x.items) + " samples",
      x.end == epoch_end::drop ? "at least one global batch of " + std::to_string(x.batch_rows)
                               : "at least one");
}

job_plan plan_job(const pipeline& x) {
  auto plan = plan_without_layout(x);
  plan.layout = learn_layout(plan);
  return plan;
}

job_plan plan_without_layout(const pipeline& x) {
  auto [shape, samples] = plan_epochs(x);
  check_not_empty(shape, x);
  job_plan plan;
  plan.shape = shape;
  plan.samples = std::move(samples);
  plan.fields = x.root().get<std::vector<std::string>>("fields");
  return plan;
}

std::shared_ptr<const batch_layout> learn_layout(const job_plan& plan, const doing& told) {
  if (plan.samples->is_indexed())
    return find_layout(plan, told);
  return plan.samples->feeds.empty() ? find_program_layout(plan, told) : nullptr;
}

std::shared_ptr<const batch_layout> layout_after(const job_plan& plan, iterator_start start,
                                                 const doing& told) {
  auto without = std::make_shared<job_plan>(plan);
  without->layout = std::make_shared<batch_layout>();
  without->bad_samples = bad_sample_policy::mask;
  auto shape = plan.shape;
  // One item of each lane at a time, at most a batch; the items of the last batch count, too.
  start.at.step *= shape.batch_rows / shape.lanes;
  shape.batch_rows = shape.lanes;
  if (!shape.is_endless())
    shape.end = epoch_end::mask;
  layout_search search{plan.fields};
  search_iterators(without, shape, 0, 1, std::move(start), told, search);
  auto found = search.result();
  return found ? found : std::make_shared<const batch_layout>();
}

sample_maker maker_of(const job_plan& plan, std::shared_ptr<worker_record> record) {
  return {plan.samples, std::move(record), plan.shape.lanes, plan.cancelled.get(),
          plan.stop.get_token()};
}

epoch_facts facts_of(const epoch_geometry& x) {
  epoch_facts facts{
      .batch_rows = x.batch_rows, .lanes = x.lanes, .end = x.end, .is_indexed = x.is_indexed};
  if (x.is_indexed)
    facts.samples = x.items;
  if (x.has_length())
    facts.batches = x.batches();
  return facts;
}

epoch_facts epoch_of(const pipeline& x) {
  return facts_of(shape_of(x));
}

std::vector<std::uint64_t> epoch_facts::world_sizes() const {
  if (is_indexed)
    return {};
  std::vector<std::uint64_t> divisors;
  for (std::uint64_t i = 1; i <= lanes / i; ++i)
    if (lanes % i == 0) {
      divisors.push_back(i);
      if (i != lanes / i)
        divisors.push_back(lanes / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

} // namespace leat
