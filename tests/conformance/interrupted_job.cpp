#include "tests/conformance/interrupted_job.hpp"

#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/support/ranks.hpp"

#include <leat/leat.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace leat::test {

namespace {

std::vector<snapshot> decoded(const std::vector<std::string>& parts) {
  std::vector<snapshot> result;
  for (const auto& x : parts)
    result.push_back(decode(x, "part"));
  return result;
}

/// Everything that decides what comes next, encoded: the same for any number of ranks.
std::string state_of(const std::vector<std::string>& parts) {
  const auto all = merge(decoded(parts), true);
  snapshot state;
  state.pipeline = all.pipeline;
  state.epoch = all.epoch;
  state.step = all.step;
  state.lanes = all.lanes;
  return encode(state);
}

/// Batch `i` of one rank.
trained_batch trained_of(const rank_run& from, std::size_t i) {
  trained_batch result{.step = from.steps[i],
                       .end_of_epoch = from.ends[i],
                       .bad_rows = from.bad_rows[i],
                       .lanes = {},
                       .parts = {from.states[i]}};
  for (const auto& state : decode(from.states[i], "part").lanes)
    result.lanes.push_back(
        {state.lane, state.mark.when.epoch, pass_word(state.mark.when.pass), state.mark.consumed});
  return result;
}

void add(trained_batch& to, const trained_batch& x) {
  leat::add(to.step, x.step);
  to.bad_rows += x.bad_rows;
  to.lanes.insert(to.lanes.end(), x.lanes.begin(), x.lanes.end());
  std::sort(to.lanes.begin(), to.lanes.end(),
            [](const lane_place& a, const lane_place& b) { return a.lane < b.lane; });
  to.parts.insert(to.parts.end(), x.parts.begin(), x.parts.end());
}

/// What the job as a whole did: batches that all ranks handed over.
void add_ranks(training& to, const std::vector<rank_run>& ranks) {
  const auto few = [](const auto& a, const auto& b) { return a.steps.size() < b.steps.size(); };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), few);
  for (std::size_t i = 0; i < least->steps.size(); ++i) {
    auto& whole = to.batches.emplace_back(trained_of(ranks.front(), i));
    for (std::size_t rank = 1; rank < ranks.size(); ++rank)
      add(whole, trained_of(ranks[rank], i));
  }
  // worker_lost only reports that another rank is gone.
  for (const auto& x : ranks)
    if (x.failure && (!to.failure || to.failure == errc::worker_lost))
      to.failure = x.failure->code();
  if (!to.failure && least->steps.size() != most->steps.size())
    throw std::logic_error("ranks end at different steps");
}

std::string name_of(const trained_batch& x) {
  return "epoch " + std::to_string(x.step.epoch) + " step " + std::to_string(x.step.step);
}

std::string name_of(const job_row& x) {
  return std::to_string(x.position) + " " + x.id + " " + to_string(x.pixels);
}

/// The first thing in which two batches differ.
std::string difference_of(const trained_batch& expected, const trained_batch& got) {
  const auto& due = expected.step.rows;
  const auto& rows = got.step.rows;
  for (std::size_t i = 0; i < std::min(due.size(), rows.size()); ++i)
    if (due[i] != rows[i])
      return "row " + name_of(due[i]) + " of " + name_of(expected) + " came as " + name_of(rows[i])
             + " of " + name_of(got);
  if (expected.step != got.step)
    return "batch " + name_of(expected) + " of " + std::to_string(due.size()) + " rows came as "
           + name_of(got) + " of " + std::to_string(rows.size());
  if (expected.end_of_epoch != got.end_of_epoch)
    return "end of the epoch at " + name_of(expected);
  if (expected.bad_rows != got.bad_rows)
    return "bad rows of " + name_of(expected);
  if (expected.lanes != got.lanes)
    return "lanes' states behind " + name_of(expected);
  return {};
}

std::string difference_of_batches(const training& expected, const training& got) {
  const auto n = std::min(expected.batches.size(), got.batches.size());
  for (std::size_t i = 0; i < n; ++i)
    if (auto text = difference_of(expected.batches[i], got.batches[i]); !text.empty())
      return text;
  if (expected.batches.size() != got.batches.size())
    return std::to_string(got.batches.size()) + " batches in place of "
           + std::to_string(expected.batches.size());
  return {};
}

std::string name_of(const std::optional<errc>& x) {
  return x ? std::string{to_string(*x)} : "none";
}

} // namespace

std::string difference_of(const training& expected, const training& got) {
  auto text = difference_of_batches(expected, got);
  if (expected.failure != got.failure)
    text += "failure " + name_of(got.failure) + " in place of " + name_of(expected.failure);
  return text;
}

interrupted_job::interrupted_job(interrupted_plan plan) : plan_(std::move(plan)) {
  if (is_once(parse_pipeline(plan_.text).root()))
    once_.emplace();
}

pipeline interrupted_job::open() const {
  const auto data = parse_pipeline(plan_.text);
  return once_ ? data.journal(once_->journal()) : data;
}

void interrupted_job::run(const leg& x) {
  if (trained_.failure)
    return;
  const auto data = open();
  const auto steps = std::min(x.steps, plan_.steps - trained_.batches.size());
  std::vector<std::string> restored(x.world_size);
  const auto begin = [&](loader& from) {
    if (!parts_.empty())
      from.restore_parts(parts_);
    const auto state = from.snapshot();
    restored[decode(state, "part").rank] = state;
  };
  const auto ranks = run_ranks(data,
                               {.workers = x.workers,
                                .epochs = plan_.epochs,
                                .dispatch = x.dispatch,
                                .bad_samples = bad_sample_policy::mask,
                                .hash_pixels = true},
                               x.world_size, begin, steps);
  add_ranks(trained_, ranks);
  if (trained_.failure)
    return;
  if (!parts_.empty() && state_of(restored) != state_of(parts_))
    throw std::logic_error("another state right after the restore");
  parts_ = std::move(restored);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].states.empty())
      parts_[rank] = ranks[rank].states.back();
}

void interrupted_job::go_back(std::size_t batches) {
  parts_ = batches > 0 ? trained_.batches[batches - 1].parts : std::vector<std::string>{};
  trained_.batches.resize(batches);
}

training train(const interrupted_plan& plan, const leg& how) {
  interrupted_job job{plan};
  job.run(how);
  return job.trained();
}

} // namespace leat::test
