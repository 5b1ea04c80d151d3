#include "runtime/row_plan.hpp"

#include "runtime/exception_text.hpp"
#include "runtime/sample_access.hpp"
#include "runtime/xxh3.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace leat {

namespace {

/// Runs one record outside of any batch and returns the fields that it ends with.
std::vector<field_layout> try_record(const row_plan& plan, std::vector<map_function>& functions,
                                     std::uint64_t record) {
  sample x;
  sample_access::reset(x, plan.data.get(), record, nullptr);
  plan.data->read(record, x);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    context c{rng{plan.streams[i], birth_of(plan.order->source, 0, 0, record)}, 0, record,
              plan.order->lanes, plan.cancelled.get()};
    functions[i](x, c);
  }
  return sample_access::fields(x);
}

/// Keeps the named fields; all where none is named.
std::vector<field_layout> select(std::vector<field_layout> fields,
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
  auto functions = make_functions(plan);
  // By number, not by position: the layout must not depend on where a job begins or resumes.
  constexpr std::uint64_t tries = 256;
  std::string problem;
  for (std::uint64_t record = 0; record < std::min(tries, plan.data->size()); ++record) {
    try {
      return std::make_shared<batch_layout>(select(try_record(plan, functions, record), names));
    } catch (const error&) {
      throw;
    } catch (...) {
      if (problem.empty())
        problem = exception_text();
    }
  }
  std::string id;
  plan.data->append_id(0, id);
  throw error(errc::bad_sample, {.stage = "first samples",
                                 .sample = id,
                                 .got = problem,
                                 .needed = "a good one among the first " + std::to_string(tries)
                                           + ", to learn the batch's fields"});
}

} // namespace

row_plan plan_rows(const pipeline& x) {
  if (x.batch_rows() == 0)
    throw error(errc::invalid_argument,
                {.stage = "pipeline", .got = "no batch()", .needed = "batch(rows) as last call"});
  row_plan plan;
  plan.data = x.shared_data();
  plan.maps = x.maps();
  std::map<std::string, std::uint64_t> ordinals;
  for (const auto& stage : plan.maps)
    plan.streams.push_back(map_stream(x.order().seed, stage.name, ordinals[stage.name]++));
  auto order = std::make_shared<order_config>();
  order->shuffle = x.order();
  order->batch_rows = x.batch_rows();
  order->end = x.batching().end;
  order->records_per_file = plan.data->records_per_file();
  order->lanes = lanes_of(x.batching(), x.batch_rows(), x.order(), order->records_per_file.size());
  order->data_digest = plan.data->facts().digest;
  plan.order = std::move(order);
  if (x.batches_per_epoch() == 0)
    throw error(errc::empty_epoch,
                {.stage = "batch",
                 .got = std::to_string(plan.data->size()) + " samples",
                 .needed = x.batching().end == epoch_end::drop
                               ? "at least one global batch of " + std::to_string(x.batch_rows())
                               : "at least one"});
  plan.layout = find_layout(plan, x.batching().fields);
  return plan;
}

std::vector<map_function> make_functions(const row_plan& plan) {
  std::vector<map_function> functions;
  for (const auto& stage : plan.maps) {
    try {
      functions.push_back(stage.make());
    } catch (...) {
      throw error(errc::invalid_argument,
                  {.stage = stage.name, .got = "the factory threw: " + exception_text()});
    }
  }
  return functions;
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
