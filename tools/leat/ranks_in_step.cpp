#include "tools/leat/ranks_in_step.hpp"

#include "runtime/base/threads/begin_thread.hpp"

#include <leat/order.hpp>
#include <leat/pipeline_facts.hpp>

#include <algorithm>
#include <utility>

namespace leat::command {

namespace {

/// Throws the first error that is not merely about the loss of another rank.
[[noreturn]] void rethrow_first_cause(const std::vector<std::exception_ptr>& problems) {
  std::exception_ptr first;
  for (const auto& x : problems) {
    if (!x)
      continue;
    if (!first)
      first = x;
    try {
      std::rethrow_exception(x);
    } catch (const error& problem) {
      if (problem.code() != errc::worker_lost || problem.details().stage != "agree")
        throw;
    }
  }
  std::rethrow_exception(first);
}

} // namespace

ranks_in_step::ranks_in_step(const pipeline& data, loader_options first, std::uint64_t ranks)
    : meeting_(ranks > 1 ? std::make_shared<rank_meeting>(ranks) : nullptr),
      must_meet_(meeting_ && epoch_of(data).needs_agreement()),
      keeps_step_(ranks > 1 && is_once(data)), can_interrupt_(ranks == 1 || keeps_step_) {
  for (std::uint64_t i = 0; i < ranks; ++i, ++first.rank) {
    if (meeting_)
      first.agree = [meeting = meeting_, rank = i](const epoch_agreement& mine) {
        return meeting->gather(rank, mine);
      };
    loaders_.emplace_back(data, first);
  }
}

/// Asks the ranks one after the other, or concurrently in threads if they wait for each other.
std::vector<std::exception_ptr> ranks_in_step::ask_all() {
  next_leases_.resize(loaders_.size());
  std::vector<std::exception_ptr> problems(loaders_.size());
  auto next = [&](std::size_t i) {
    try {
      next_leases_[i] = loaders_[i].next();
    } catch (...) {
      problems[i] = std::current_exception();
      if (meeting_)
        meeting_->break_up();
    }
  };
  {
    joined_threads others;
    std::size_t i = 1;
    try {
      for (; must_meet_ && i < loaders_.size(); ++i)
        others.add("ranks", [&next, i] { next(i); });
    } catch (...) {
      problems[i] = std::current_exception();
      meeting_->break_up(); // ranks that have begun would wait for all
    }
    for (i = 0; i < (must_meet_ ? 1 : loaders_.size()); ++i)
      next(i);
  }
  return problems;
}

bool ranks_in_step::next() {
  const auto problems = ask_all();
  if (std::none_of(problems.begin(), problems.end(), [](const auto& x) { return x != nullptr; })) {
    leases_ = std::exchange(next_leases_, {});
    return true;
  }
  // The rank that failed has the reason; the others report only that it is missing.
  try {
    rethrow_first_cause(problems);
  } catch (const error& problem) {
    if (problem.code() != errc::interrupted)
      throw;
  }
  return false;
}

void ranks_in_step::end_step() {
  if (!keeps_step_)
    leases_.clear();
}

void ranks_in_step::forget_steps() {
  leases_.clear();
  next_leases_.clear();
}

void ranks_in_step::save(const std::string& directory) {
  for (std::size_t i = 0; i < loaders_.size(); ++i)
    if (i < next_leases_.size() && next_leases_[i]) // this rank is a step ahead of others
      loaders_[i].save(directory, *leases_[i]);
    else
      loaders_[i].save(directory);
}

void ranks_in_step::interrupt() {
  if (can_interrupt_)
    for (auto& x : loaders_)
      x.interrupt();
}

std::vector<loader_stats> ranks_in_step::stats() const {
  std::vector<loader_stats> result;
  for (const auto& x : loaders_)
    result.push_back(x.stats());
  return result;
}

hash128 ranks_in_step::digest() const {
  hash128 sum;
  for (const auto& x : loaders_)
    sum += x.position().digest;
  return sum;
}

std::uint64_t ranks_in_step::snapshot_bytes() const {
  std::uint64_t most = 0;
  try {
    for (const auto& x : loaders_)
      most = std::max<std::uint64_t>(most, x.snapshot().size());
  } catch (const error&) { // no snapshot is possible of records that no journal keeps
  }
  return most;
}

} // namespace leat::command
