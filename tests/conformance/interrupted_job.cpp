#include "tests/conformance/interrupted_job.hpp"

#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/leat.hpp>

#include "tools/leat/rank_meeting.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace leat::test {

namespace {

using command::rank_meeting;

/// What one rank did in a leg.
struct rank_part {
  std::vector<trained_batch> batches;
  std::optional<errc> failure;
  /// Before the first batch, and at the end.
  std::string restored;
  std::string part;
};

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

trained_batch trained_of(const batch& x, const std::string& part) {
  trained_batch result;
  result.end_of_epoch = x.end_of_epoch();
  result.bad_rows = x.bad().size();
  std::vector<job_step> steps;
  append(steps, x);
  result.step = steps.front();
  result.parts = {part};
  for (const auto& state : decode(part, "part").lanes)
    result.lanes.push_back(
        {state.lane, state.mark.when.epoch, pass_word(state.mark.when.pass), state.mark.consumed});
  return result;
}

rank_part run_rank(const pipeline& data, const loader_options& options,
                   const std::vector<std::string>& parts, std::uint64_t steps,
                   rank_meeting& meeting) {
  rank_part result;
  try {
    loader from{data, options};
    if (!parts.empty())
      from.restore_parts(parts);
    result.restored = result.part = from.snapshot();
    while (result.batches.size() < steps) {
      const auto x = from.next();
      if (!x)
        break;
      result.part = x->snapshot();
      result.batches.push_back(trained_of(*x, result.part));
    }
  } catch (const error& problem) {
    result.failure = problem.code();
    meeting.break_up();
  }
  return result;
}

void add(trained_batch& to, const trained_batch& x) {
  to.step.rows.insert(to.step.rows.end(), x.step.rows.begin(), x.step.rows.end());
  std::sort(to.step.rows.begin(), to.step.rows.end(),
            [](const job_row& a, const job_row& b) { return a.position < b.position; });
  to.step.digest += x.step.digest;
  to.bad_rows += x.bad_rows;
  to.lanes.insert(to.lanes.end(), x.lanes.begin(), x.lanes.end());
  std::sort(to.lanes.begin(), to.lanes.end(),
            [](const lane_place& a, const lane_place& b) { return a.lane < b.lane; });
  to.parts.insert(to.parts.end(), x.parts.begin(), x.parts.end());
}

/// What the job as a whole did: batches that all ranks handed over.
void add_ranks(training& to, const std::vector<rank_part>& ranks) {
  const auto shortest = std::min_element(ranks.begin(), ranks.end(), [](auto& a, auto& b) {
    return a.batches.size() < b.batches.size();
  });
  for (std::size_t i = 0; i < shortest->batches.size(); ++i) {
    auto& whole = to.batches.emplace_back(ranks.front().batches[i]);
    for (std::size_t rank = 1; rank < ranks.size(); ++rank)
      add(whole, ranks[rank].batches[i]);
  }
  // worker_lost only reports that another rank is gone.
  for (const auto& x : ranks)
    if (x.failure && (!to.failure || to.failure == errc::worker_lost))
      to.failure = x.failure;
  if (!to.failure && std::any_of(ranks.begin(), ranks.end(), [&](auto& x) {
        return x.batches.size() != shortest->batches.size();
      }))
    throw std::logic_error("ranks end at different steps");
}

using row_place = std::pair<std::uint64_t, std::uint64_t>;

struct placed_row {
  std::uint64_t step;
  job_row row;
};

/// Rows by epoch and position. Returns how many came more than once.
std::size_t place_rows(const training& from, std::map<row_place, placed_row>& to) {
  std::size_t repeated = 0;
  for (const auto& x : from.batches)
    for (const auto& row : x.step.rows)
      repeated +=
          to.emplace(row_place{x.step.epoch, row.position}, placed_row{x.step.step, row}).second
              ? 0
              : 1;
  return repeated;
}

std::string difference_of_rows(const training& expected, const training& got) {
  std::map<row_place, placed_row> due;
  std::map<row_place, placed_row> found;
  place_rows(expected, due);
  const auto repeated = place_rows(got, found);
  std::size_t lost = 0;
  std::size_t moved = 0;
  std::size_t changed = 0;
  for (const auto& [place, x] : due) {
    const auto other = found.find(place);
    if (other == found.end())
      ++lost;
    else if (other->second.row.id != x.row.id || other->second.step != x.step)
      ++moved;
    else if (other->second.row.pixels != x.row.pixels)
      ++changed;
  }
  const auto extra = found.size() + lost - due.size();
  if (lost + repeated + moved + changed + extra == 0)
    return {};
  std::ostringstream text;
  text << "rows lost " << lost << ", repeated " << repeated << ", moved " << moved << ", changed "
       << changed << ", extra " << extra << "; ";
  return text.str();
}

std::string name_of(const trained_batch& x) {
  return "epoch " + std::to_string(x.step.epoch) + " step " + std::to_string(x.step.step);
}

/// The first thing in which two batches differ.
std::string difference_of(const trained_batch& expected, const trained_batch& got) {
  if (expected.step != got.step)
    return "batch " + name_of(expected) + " came as " + name_of(got) + ", or with other rows";
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
  auto text = difference_of_rows(expected, got) + difference_of_batches(expected, got);
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
  rank_meeting meeting{x.world_size};
  std::vector<std::future<rank_part>> running;
  for (std::uint64_t rank = 0; rank < x.world_size; ++rank) {
    loader_options options{.rank = rank,
                           .world_size = x.world_size,
                           .workers = x.workers,
                           .epochs = plan_.epochs,
                           .dispatch = x.dispatch,
                           .bad_samples = bad_sample_policy::mask,
                           .hash_pixels = true};
    options.agree = [&meeting, rank](const epoch_agreement& mine) {
      return meeting.gather(rank, mine);
    };
    // Ranks that wait for each other need threads.
    running.push_back(std::async(x.world_size == 1 ? std::launch::deferred : std::launch::async,
                                 [&data, options, this, steps, &meeting] {
                                   return run_rank(data, options, parts_, steps, meeting);
                                 }));
  }
  std::vector<rank_part> ranks;
  for (auto& rank : running)
    ranks.push_back(rank.get());
  add_ranks(trained_, ranks);
  if (trained_.failure)
    return;
  std::vector<std::string> restored;
  for (auto& rank : ranks)
    restored.push_back(std::move(rank.restored));
  if (!parts_.empty() && state_of(restored) != state_of(parts_))
    throw std::logic_error("another state right after the restore");
  parts_.clear();
  for (auto& rank : ranks)
    parts_.push_back(std::move(rank.part));
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
