#include "tests/cluster/judge.hpp"

#include <leat/error.hpp>

#include <tuple>

namespace leat::test {

namespace {

row_ids rows_of(const row_ids& all, std::uint64_t rank, std::uint64_t world_size) {
  row_ids mine;
  for (const auto& x : all)
    if (x.first % world_size == rank)
      mine.push_back(x);
  return mine;
}

std::string text_of(const seat_life& x) {
  return "rank " + std::to_string(x.rank) + " (process " + std::to_string(x.who.low) + "."
         + std::to_string(x.who.let_go) + ", term " + std::to_string(x.term) + ")";
}

} // namespace

std::string text_of(const job_position& x) {
  return std::to_string(x.epoch) + ":" + std::to_string(x.step);
}

// -- seats and batches

job_position judge::begins(const seat_life& who, const job_position& start, bool has_come_back,
                           const simulated_disk& disk) {
  const seat_key seat{who.term, who.rank};
  if (!has_come_back) {
    if (!is_replaced(who)) // it may have been stopped before it began
      weights_[seat] = start;
    return start;
  }
  ++counts_.returns;
  if (who.term >= newest_term_ && start != disk.newest_set().value_or(job_position{}))
    wrong(text_of(who) + " comes back at " + text_of(start) + ", not at the newest set");
  // The collective is formed again, without the contribution of the former life, whose trainer is
  // fenced from now on.
  for (auto& [key, gate] : gates_)
    if (key.first == who.term)
      gate.erase(who.rank);
  if (with_.keeps(rule::trainer_is_fenced))
    holders_[seat].push_back(who.who);
  const auto at = weights_.try_emplace(seat, start).first->second;
  return with_.keeps(rule::trainer_names_step) ? at : start;
}

void judge::check_seat(const seat_life& who) {
  if (who.term < newest_term_)
    wrong(text_of(who) + " hands over after a batch of term " + std::to_string(newest_term_));
  newest_term_ = who.term;
  auto& lives = holders_[{who.term, who.rank}];
  if (std::find(lives.begin(), lives.end(), who.who) == lives.end())
    lives.push_back(who.who);
  else if (lives.back() != who.who)
    wrong("two lives hand over: " + text_of(who) + " and process "
          + std::to_string(lives.back().low));
}

void judge::handed_over(const seat_life& who, const job_position& at, const row_ids& rows) {
  ++counts_.batches;
  check_seat(who);
  const auto weights = weights_[{who.term, who.rank}];
  if (weights != at)
    wrong(text_of(who) + " was handed " + text_of(at) + " while its trainer is at "
          + text_of(weights));
  const auto found = with_.job->batches().find(at);
  if (found == with_.job->batches().end())
    wrong(text_of(who) + " was handed " + text_of(at) + ", which is no batch");
  if (rows != rows_of(found->second.rows, who.rank, who.world_size))
    wrong(text_of(who) + " was handed other rows in " + text_of(at));
  check_run_ahead(who, at);
}

void judge::check_run_ahead(const seat_life& who, const job_position& at) const {
  const auto& rules = with_.rules;
  if (!rules.comes_back_alone)
    return;
  const auto step = with_.job->global_step_at(at);
  for (auto one = weights_.lower_bound({who.term, 0});
       one != weights_.end() && one->first.first == who.term; ++one)
    if (step >= with_.job->global_step_at(one->second) + rules.run_ahead)
      wrong(text_of(who) + " was handed " + text_of(at) + ", too far ahead of rank "
            + std::to_string(one->first.second));
}

void judge::ended(const seat_life& who) {
  if (const auto weights = weights_[{who.term, who.rank}]; weights != with_.job->end())
    wrong(text_of(who) + " hears of the end at " + text_of(weights));
}

bool judge::is_replaced(const seat_life& who) const {
  const auto lives = holders_.find({who.term, who.rank});
  return lives != holders_.end() && lives->second.back() != who.who;
}

bool judge::is_fenced(const seat_life& who) const {
  return who.term < newest_term_ || is_replaced(who);
}

void judge::trained(const seat_life& who, const job_position& at, const job_position& next,
                    const std::function<void()>& go_on) {
  const auto& expected = with_.job->batches().at(at).next;
  if (next != expected)
    wrong("after " + text_of(at) + " " + text_of(who) + " stands at " + text_of(next) + ", not "
          + text_of(expected));
  if (with_.keeps(rule::trainer_is_fenced) && is_fenced(who)) {
    if (!with_.lock_step)
      go_on(); // it may ask for the next batch at once
    return;
  }
  const seat_key seat{who.term, who.rank};
  if (!with_.lock_step) {
    weights_[seat] = next;
    history_[seat].push_back(at);
    return go_on();
  }
  auto& gate = gates_[{who.term, at}];
  gate[who.rank] = {who, next, go_on};
  if (gate.size() < who.world_size)
    return;
  const auto all = std::move(gate);
  gates_.erase({who.term, at});
  for (const auto& [rank, x] : all) {
    weights_[{who.term, rank}] = x.next;
    history_[{who.term, rank}].push_back(at);
  }
  for (const auto& [rank, x] : all)
    x.go_on();
}

// -- sets

std::vector<snapshot> judge::stored(const job_position& at, std::uint64_t term,
                                    const std::map<std::uint64_t, std::string>& parts) {
  ++counts_.sets;
  std::vector<snapshot> all;
  for (const auto& [rank, bytes] : parts) {
    const auto part = without_tag(bytes);
    if (part.term != term)
      wrong("a part of term " + std::to_string(part.term) + " in a set of term "
            + std::to_string(term));
    const auto lives = holders_.find({term, rank});
    if (lives != holders_.end() && lives->second.back() != part.who)
      wrong("a part of a former life of rank " + std::to_string(rank));
    const auto weights = weights_.find({term, rank});
    if (weights == weights_.end() || weights->second < at)
      wrong("a set at " + text_of(at) + ", ahead of rank " + std::to_string(rank));
    all.push_back(decode(part.bytes, "part"));
    if (job_position{all.back().epoch, all.back().step} != at || all.back().rank != rank)
      wrong("a part of another place or rank in the set at " + text_of(at));
  }
  try {
    const auto merged = merge(all, true);
    const auto before = std::prev(with_.job->batches().lower_bound(at));
    if (merged.sums.digest != before->second.digest_until_next
        || merged.sums.samples != before->second.samples_until_next || merged.sums.partial)
      wrong("other sums in the set at " + text_of(at));
    if (merged.global_step != with_.job->global_step_at(at))
      wrong("another step in the set at " + text_of(at));
  } catch (const error& problem) {
    wrong("a set that cannot be restored: " + std::string{problem.what()});
  }
  return all;
}

void judge::at_most(const char* what, std::size_t x, std::size_t most) {
  if (x > most)
    wrong(std::string{"above its bound: "} + what + ": " + std::to_string(x) + " > "
          + std::to_string(most));
}

void judge::knows_term(std::uint64_t of_member, std::uint64_t of_coordinator) {
  if (of_member > of_coordinator)
    wrong("a term that its coordinator does not know: " + std::to_string(of_member) + " > "
          + std::to_string(of_coordinator));
}

// -- the end

void judge::check_end(const coordinator_state& state, const simulated_disk& disk) const {
  if (disk.newest_set() != with_.job->end() && !not_stored_.contains(with_.job->end()))
    wrong("the last set is not stored");
  const auto start = state.start.value_or(job_position{});
  std::vector<job_position> expected;
  for (const auto& [at, batch] : with_.job->batches())
    if (at >= start)
      expected.push_back(at);
  for (std::uint64_t rank = 0; rank < state.seats.size(); ++rank) {
    const auto found = history_.find({state.term, rank});
    const auto had = found == history_.end() ? std::vector<job_position>{} : found->second;
    if (had == expected)
      continue;
    std::string text = "rank " + std::to_string(rank) + " trained on";
    for (const auto& at : had)
      text += " " + text_of(at);
    wrong(text + " from " + text_of(start));
  }
}

void judge::check_elsewhere(simulated_network& net, const simulated_disk& disk) {
  if (disk.sets.empty())
    return;
  auto set = disk.sets.begin();
  std::advance(set, net.below(disk.sets.size()));
  std::uint64_t world = 0;
  do
    world = net.one_of({1U, 2U, 3U, 4U, 6U, 12U});
  while (with_.job->lanes() % world != 0);
  const auto rest = with_.job->rest_of(set->second, world);
  std::map<job_position, row_ids> expected;
  for (const auto& [at, batch] : with_.job->batches())
    if (at >= set->first)
      expected[at] = batch.rows;
  if (rest != expected)
    wrong("the set at " + text_of(set->first) + " gives other batches on " + std::to_string(world)
          + " ranks");
  ++counts_.restored_elsewhere;
}

} // namespace leat::test
