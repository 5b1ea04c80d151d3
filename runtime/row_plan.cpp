#include "runtime/row_plan.hpp"

#include "runtime/sample_access.hpp"
#include "runtime/xxh3.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace leat {

namespace {

/// Keeps the named fields; all where none is named.
std::vector<field_layout> select_fields(std::vector<field_layout> fields,
                                        const std::vector<std::string>& names) {
  if (names.empty())
    return fields;
  std::vector<field_layout> result;
  for (const auto& name : names) {
    auto found =
        std::find_if(fields.begin(), fields.end(), [&](const auto& x) { return x.name == name; });
    if (found == fields.end())
      throw bad_sample(cause::missing_field, "batch field \"" + name + "\" is not in the sample");
    result.push_back(std::move(*found));
  }
  return result;
}

std::shared_ptr<const batch_layout> find_layout(const row_plan& plan,
                                                const std::vector<std::string>& names) {
  auto maker = maker_of(plan, std::make_shared<worker_record>());
  // Of epoch 0, wherever a job begins or resumes: the layout must not depend on it.
  constexpr std::uint64_t tries = 256;
  std::string problem;
  for (std::uint64_t item = 0; item < std::min(tries, plan.shape.items); ++item) {
    try {
      sample x;
      maker.make({.item = item}, item, x);
      return std::make_shared<batch_layout>(select_fields(sample_access::fields(x), names));
    } catch (const error&) {
      throw;
    } catch (const bad_sample& found) {
      if (problem.empty())
        problem = found.what();
    }
  }
  std::string id;
  plan.samples->items->append_id({}, maker.orders(), id);
  throw error(errc::bad_sample, {.stage = "first samples",
                                 .sample = id,
                                 .got = problem,
                                 .needed = "a good one among the first " + std::to_string(tries)
                                           + ", to learn the batch's fields"});
}

const stage& batch_of(const pipeline& x) {
  if (x.root().op != "batch")
    throw error(errc::invalid_argument,
                {.stage = "pipeline", .got = "no batch()", .needed = "batch(rows) as last call"});
  check_tree_size(x.root());
  return x.root();
}

} // namespace

epoch_plan plan_epochs(const pipeline& x) {
  const auto& batch = batch_of(x);
  epoch_plan plan;
  plan.shape.lanes = lanes_of(batch);
  plan.shape.batch_rows = batch.get<std::uint64_t>("rows");
  plan.shape.end = batch.get<std::string>("end") == "mask" ? epoch_end::mask : epoch_end::drop;
  plan.samples =
      std::make_shared<const sequence_plan>(plan_sequence(*batch.inputs.front(), plan.shape.lanes));
  plan.shape.items = plan.samples->items->size();
  return plan;
}

epoch_shape shape_of(const pipeline& x) {
  return plan_epochs(x).shape;
}

void check_not_empty(const epoch_shape& x) {
  if (x.batches() != 0)
    return;
  throw error(errc::empty_epoch,
              {.stage = "batch",
               .got = std::to_string(x.items) + " samples",
               .needed = x.end == epoch_end::drop
                             ? "at least one global batch of " + std::to_string(x.batch_rows)
                             : "at least one"});
}

row_plan plan_rows(const pipeline& x) {
  auto [shape, samples] = plan_epochs(x);
  check_not_empty(shape);
  row_plan plan;
  plan.shape = shape;
  plan.samples = std::move(samples);
  plan.layout = find_layout(plan, x.root().get<std::vector<std::string>>("fields"));
  return plan;
}

row_maker maker_of(const row_plan& plan, std::shared_ptr<worker_record> record) {
  return {plan.samples, std::move(record), plan.shape.lanes, plan.cancelled.get()};
}

std::uint64_t map_stream(std::uint64_t seed, std::string_view name, std::uint64_t ordinal) {
  hash_stream hash;
  hash.add("map");
  hash.add(seed);
  hash.add(name);
  hash.add(ordinal);
  return hash.digest64();
}

std::uint64_t birth_of(std::uint64_t source, std::uint64_t epoch, std::uint64_t pass,
                       std::uint64_t record) noexcept {
  const std::array<std::uint64_t, 4> words{source, epoch, pass, record};
  return xxh3_128(std::as_bytes(std::span{words})).low;
}

} // namespace leat
