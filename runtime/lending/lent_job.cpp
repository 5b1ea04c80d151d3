#include "runtime/lending/lent_job.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/map_parameters.hpp"
#include "runtime/base/value_bytes.hpp"
#include "runtime/children/isolated_map.hpp"
#include "runtime/lending/content_sample.hpp"
#include "runtime/lending/files_below.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/pipeline/text/pipeline_rebuild.hpp"

#include <leat/snapshot.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace leat {

namespace {

constexpr std::uint64_t most_sources = 10'000;
constexpr std::uint64_t most_positions = 1'000'000;

bool is_map_stage(const operator_node& x) {
  return x.op == "map" && !x.is_source();
}

void write_numbers(value_writer& to, const std::vector<std::uint64_t>& x) {
  to.number(x.size());
  for (const auto each : x)
    to.number(each);
}

std::vector<std::uint64_t> read_numbers(value_reader& from, std::uint64_t most) {
  std::vector<std::uint64_t> x;
  for (auto left = from.count(1, most); left > 0; --left)
    x.push_back(from.number());
  return x;
}

void write_shape(value_writer& to, const source_shape& x) {
  to.text(x.name);
  to.number(x.facts.files);
  to.number(x.facts.records);
  to.number(x.facts.bytes);
  to.as_it_is(x.facts.digest);
  write_numbers(to, x.records_per_file);
}

source_shape read_shape(value_reader& from) {
  source_shape x;
  x.name = from.text();
  x.facts.files = from.number();
  x.facts.records = from.number(std::uint64_t{1} << 62);
  x.facts.bytes = from.number();
  from.as_it_is(x.facts.digest);
  x.records_per_file = read_numbers(from, UINT64_MAX);
  std::uint64_t sum = 0;
  for (const auto n : x.records_per_file)
    if (n > x.facts.records - std::min(sum, x.facts.records) || (sum += n) > x.facts.records)
      throw torn_value("files with more records than their source");
  if (sum != x.facts.records)
    throw torn_value("files with fewer records than their source");
  return x;
}

/// The same pipeline with these maps in child processes.
operator_ptr isolated_in(const operator_node& x, const std::vector<std::uint64_t>& which,
                         std::uint64_t& number) {
  auto copy = x;
  for (auto& input : copy.inputs)
    input = isolated_in(*input, which, number);
  if (is_map_stage(copy) && std::count(which.begin(), which.end(), number++) > 0) {
    // By its name, as all functions are found here: a stage knows how it is isolated, a node does
    // not.
    auto map =
        isolated(make_map(copy.get<std::string>("name"), copy.get<std::string>("parameters")));
    copy.make = std::move(map.make);
    copy.make_together = std::move(map.make_together);
  }
  return std::make_shared<const operator_node>(std::move(copy));
}

/// The job's lanes, which may have been found from files that are not here.
operator_ptr with_lanes(const operator_node& batch, std::uint64_t lanes) {
  auto copy = batch;
  for (auto& option : copy.options)
    if (option.name == "lanes")
      option.value = lanes;
  return std::make_shared<const operator_node>(std::move(copy));
}

/// Reads the first and the last record of each source. Throws what that throws.
void read_some(const pipeline& x) {
  for_each_operator(x.root(), [](const operator_node& node) {
    if (!node.data)
      return;
    const auto data = node.data->get();
    for (const auto record : {std::uint64_t{0}, data->size() - 1})
      if (record < data->size())
        try {
          sample into;
          data->read(record, into);
        } catch (const bad_sample&) { // so it is for the rank
        }
  });
}

} // namespace

lent_job lent_job_of(const pipeline& x, const pipeline_facts& facts, const job_plan& plan) {
  lent_job job{
      .bad_samples = plan.bad_samples, .hash_pixels = plan.hash_pixels, .throw_at = plan.throw_at};
  snapshot beginning;
  beginning.pipeline = facts;
  beginning.fields = plan.layout->fields();
  job.beginning = encode(beginning);
  job.content = content_sample(x);
  std::uint64_t number = 0;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (is_map_stage(node) && node.get<bool>("isolate"))
      job.isolated.push_back(number);
    number += is_map_stage(node) ? 1 : 0;
  });
  if (can_send_records(x))
    job.sources = source_shapes(x);
  return job;
}

std::string encode(const lent_job& x) {
  return bytes_written_by([&](value_writer& to) {
    to.text(x.beginning);
    to.number(static_cast<std::uint64_t>(x.bad_samples));
    to.flag(x.hash_pixels);
    write_numbers(to, x.throw_at);
    write_numbers(to, x.isolated);
    to.flag(x.sends_records);
    to.as_it_is(x.content);
    to.number(x.sources.size());
    for (const auto& source : x.sources)
      write_shape(to, source);
  });
}

std::optional<lent_job> decode_lent_job(std::string_view bytes) try {
  value_reader from{bytes};
  lent_job x;
  x.beginning = from.text();
  x.bad_samples = static_cast<bad_sample_policy>(
      from.number(static_cast<std::uint64_t>(bad_sample_policy::mask)));
  x.hash_pixels = from.flag();
  x.throw_at = read_numbers(from, most_positions);
  x.isolated = read_numbers(from, most_positions);
  x.sends_records = from.flag();
  from.as_it_is(x.content);
  for (auto left = from.count(21, most_sources); left > 0; --left)
    x.sources.push_back(read_shape(from));
  from.end();
  return x;
} catch (const torn_value&) {
  return std::nullopt;
}

borrowed_job::borrowed_job(lent_job x, const std::vector<std::string>& folders)
    : job_(std::move(x)), beginning_(decode(job_.beginning, "the rank's job")) {
  // Models are opened as soon as their maps are made.
  if (const auto file = model_not_below(beginning_.pipeline.root, folders); !file.empty())
    refuse_argument("worker", "a map that reads " + file, "files below --data");
  const auto made = rebuild(beginning_.pipeline);
  if (const auto why = reason_against_lending(made); !why.empty())
    refuse_argument("worker", why, "a job whose rows can be lent");
  std::uint64_t number = 0;
  pipeline_.emplace(isolated_in(made.root(), job_.isolated, number));
  if (!job_.sends_records && reads_only_below(*pipeline_, folders) && finds_data(folders)) {
    own_plan_ = plan_of(*pipeline_);
    return;
  }
  if (job_.sources.empty())
    refuse_argument("worker", "data that is not below --data, and whose records cannot be sent",
                    "--data with the folder of the rank's data");
  const auto none = std::make_shared<records_at_hand>();
  const auto with_records = with_records_at_hand(*pipeline_, job_.sources, none);
  check_same(with_records);
  (void)plan_of(with_records);
  if (none->lacked()) // what was planned without them may be wrong
    refuse_argument("worker", "a pipeline that is planned from its records", "--data with them");
}

bool borrowed_job::finds_data(const std::vector<std::string>& folders) const try {
  check_files_below(*pipeline_, folders);
  check_same(*pipeline_);
  read_some(*pipeline_);
  if (content_sample(*pipeline_) != job_.content)
    throw error(errc::mismatch, {.stage = "worker",
                                 .got = "files of the same names and sizes as the rank's, with "
                                        "other content",
                                 .needed = "a copy of the data that is up to date"});
  return true;
} catch (const error&) {
  if (job_.sources.empty()) // so nothing else is possible
    throw;
  return false;
}

void borrowed_job::check_same(const pipeline& x) const {
  check(beginning_, describe(x, beginning_.pipeline.lanes), {});
}

std::shared_ptr<const job_plan> borrowed_job::plan_of(const pipeline& x) const {
  auto plan = plan_without_layout(pipeline{with_lanes(x.root(), beginning_.pipeline.lanes)});
  plan.layout = std::make_shared<const batch_layout>(beginning_.fields);
  plan.bad_samples = job_.bad_samples;
  plan.hash_pixels = job_.hash_pixels;
  plan.throw_at = job_.throw_at;
  return std::make_shared<const job_plan>(std::move(plan));
}

std::shared_ptr<const job_plan>
borrowed_job::plan_for(std::shared_ptr<records_at_hand> records) const {
  return own_plan_ ? own_plan_
                   : plan_of(with_records_at_hand(*pipeline_, job_.sources, std::move(records)));
}

} // namespace leat
