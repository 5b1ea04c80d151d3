#include "tools/leat/verify/audit.hpp"

#include <leat/order.hpp>

#include "tools/leat/verify/attempt_order.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace leat::command {

namespace {

hash128 digest_of_rows(const batch_line& x) {
  hash128 sum;
  for (std::size_t i = 0; i < x.ids.size(); ++i)
    sum += row_digest(x.epoch, x.positions[i], x.ids[i]);
  return sum;
}

std::string name_of(std::uint64_t epoch, std::uint64_t step) {
  return "epoch " + std::to_string(epoch) + " step " + std::to_string(step);
}

/// "rank 1 of 2", "ranks 1, 2, ... of 64"
std::string name_of_ranks(const job_history::gap& x) {
  constexpr std::size_t most_named = 4;
  std::string text = x.ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(x.ranks.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(x.ranks[i]);
  return text + (x.ranks.size() > most_named ? ", ..." : "") + " of "
         + std::to_string(x.world_size);
}

/// Why a row of that step was never delivered.
std::string why_lost(const job_history& history, const step_key& at) {
  for (const auto& x : history.gaps)
    if (x.begin <= at && at < x.end)
      return "no log of " + name_of_ranks(x) + " in the attempt that began with "
             + name_of(x.begin.first, x.begin.second);
  return "never delivered";
}

/// How many consecutive positions may be missing: fewer than there are lanes.
constexpr std::uint64_t most_missing = 1 << 24;

} // namespace

std::string_view to_string(fault_kind x) noexcept {
  constexpr std::array<std::string_view, num_fault_kinds> names{"lost", "repeated", "moved",
                                                                "changed", "extra"};
  return names[static_cast<std::size_t>(x)];
}

void audit::expect(const batch_line& line) {
  auto name = "order, " + name_of(line.epoch, line.step) + ": ";
  if (digest_of_rows(line) != line.digest)
    throw std::runtime_error(name + "the digest does not match the rows");
  auto& rows = expected_[line.epoch];
  const auto next_step = rows.empty() ? 0 : rows.back().step + 1;
  if (line.step > next_step)
    throw std::runtime_error(name + "got step " + std::to_string(line.step) + ", needed "
                             + std::to_string(next_step));
  for (std::size_t i = 0; i < line.ids.size(); ++i) {
    const auto position = line.positions[i];
    if (position < rows.size() || position - rows.size() > most_missing)
      throw std::runtime_error(name + "got position " + std::to_string(position)
                               + ", needed one from " + std::to_string(rows.size()) + " on");
    // Positions are missing where some lanes have run out of items before others.
    rows.resize(position, {no_id, line.step});
    rows.push_back({number_of(line.ids[i]), line.step});
  }
}

void audit::begin_logs() {
  logs_.emplace_back();
}

void audit::begin_log() {
  if (logs_.empty())
    begin_logs();
  logs_.back().emplace_back();
}

void audit::begin_attempt(const attempt_start& header) {
  if (logs_.empty() || logs_.back().empty())
    begin_log();
  const auto resumed = header.resumed_at.value_or(job_position{});
  const step_key start{resumed.epoch, resumed.step};
  auto& log = logs_.back().back();
  const bool is_same_rank = !log.empty() && log.back().what.rank == header.rank
                            && log.back().what.world_size == header.world_size
                            && log.back().what.start <= start;
  if (is_same_rank && header.continues) {
    log.back().term = header.term;
    for (auto& [rank, parts] : log.back().what.parts)
      parts.erase(parts.lower_bound(start), parts.end());
    return;
  }
  if (is_same_rank && header.term && header.term == log.back().term)
    return; // the others did not go back, so what it hands over again counts as repeated
  log.push_back({.what = {.world_size = header.world_size,
                          .rank = header.rank,
                          .is_alone = !header.rank || header.world_size == 1,
                          .start = start},
                 .has_header = true,
                 .term = header.term});
}

/// The attempt that the line belongs to.
process_attempt& audit::attempt_of(const batch_line& line) {
  if (logs_.empty() || logs_.back().empty())
    begin_log();
  auto& log = logs_.back().back();
  const step_key at{line.epoch, line.step};
  if (log.empty())
    log.push_back({{.world_size = line.world_size, .is_alone = line.world_size == 1, .start = at}});
  auto& last = log.back();
  if (!last.has_header)
    last.what.start = std::min(last.what.start, at);
  return last.what;
}

void audit::deliver(const batch_line& line) {
  const step_key key{line.epoch, line.step};
  if (digest_of_rows(line) != line.digest)
    add(fault_kind::changed, key, {}, {}, "the digest does not match the rows");
  auto& attempt = attempt_of(line);
  const auto rank = line.rank.value_or(0);
  if (line.world_size != attempt.world_size || !attempt.runs(rank))
    return add(fault_kind::changed, key, {}, {},
               "a line of rank " + std::to_string(rank) + " of " + std::to_string(line.world_size)
                   + ", in an attempt of another rank or world size");
  auto& parts = attempt.parts[rank];
  if (!parts.empty() && key < parts.rbegin()->first && !parts.contains(key)) {
    const auto& [epoch, step] = parts.rbegin()->first;
    add(fault_kind::moved, key, {}, {}, "handed over after " + name_of(epoch, step));
  }
  check_ranks(line);
  auto& part = parts[key];
  auto rows = rows_of(line);
  part.rows.insert(part.rows.end(), rows.begin(), rows.end());
  part.digest += line.digest;
}

/// Rank r of W gets the positions p with p mod W = r.
void audit::check_ranks(const batch_line& line) {
  const auto rank = line.rank.value_or(0);
  for (std::size_t i = 0; i < line.positions.size(); ++i)
    if (const auto due = line.positions[i] % line.world_size; due != rank)
      add(fault_kind::moved, {line.epoch, line.step}, line.positions[i], line.ids[i],
          "due on rank " + std::to_string(due) + ", not on rank " + std::to_string(rank));
}

/// All attempts in order of time.
std::vector<process_attempt> audit::ordered_attempts() {
  std::vector<process_attempt> result;
  std::size_t before = 0;
  for (std::size_t g = 0; g < logs_.size(); ++g) {
    auto& group = logs_[g];
    std::vector<std::vector<attempt_key>> keys(group.size());
    for (std::size_t i = 0; i < group.size(); ++i)
      for (const auto& x : group[i])
        keys[i].push_back({x.what.world_size, x.what.start, !x.what.rank});
    const auto numbers = order_of_attempts(keys);
    // Logs without any attempt still count as one: it died before it wrote anything.
    auto after = before + (group.empty() ? 0 : 1);
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t k = 0; k < group[i].size(); ++k) {
        auto& x = result.emplace_back(std::move(group[i][k].what));
        x.when = before + numbers[i][k];
        x.group = g;
        x.log = i;
        after = std::max(after, x.when + 1);
      }
    before = after;
  }
  report_.attempts = before;
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.when < b.when; });
  return result;
}

/// What is handed over again must be the same as before, whether it counts or not.
void audit::compare_attempts(const std::vector<process_attempt>& attempts) {
  std::map<std::uint64_t, std::unordered_map<std::uint64_t, const delivered_row*>> earlier;
  for (const auto& attempt : attempts) {
    for (const auto& [rank, parts] : attempt.parts)
      for (const auto& [at, part] : parts)
        for (const auto& row : part.rows)
          if (const auto& rows = earlier[at.first]; !rows.empty())
            if (const auto was = rows.find(row.position); was != rows.end())
              compare(at, *was->second, row);
    if (&attempt == &attempts.back())
      return;
    for (const auto& [rank, parts] : attempt.parts)
      for (const auto& [at, part] : parts)
        for (const auto& row : part.rows)
          earlier[at.first].insert_or_assign(row.position, &row);
  }
}

/// Judges the counted rows of one epoch. Rows at their place come first: if an id was delivered at
/// its place and elsewhere, the row elsewhere is the repeated one.
struct audit::epoch_judge {
  audit& to;
  const std::vector<expected_row>& expected;
  /// How often each id is due in the epoch, and how often it came.
  std::vector<std::uint32_t> due = std::vector<std::uint32_t>(to.ids_.size());
  std::vector<std::uint32_t> seen = std::vector<std::uint32_t>(to.ids_.size());
  std::vector<bool> placed = std::vector<bool>(expected.size());
  std::unordered_map<std::uint64_t, std::uint64_t> seen_positions = {};

  bool at_its_place(const delivered_row& x) const {
    return x.position < expected.size() && expected[x.position].id == x.due;
  }

  bool came_often_enough(id_number id) const { return seen[id] >= due[id]; }

  /// False if the position came before, or the id has already come as often as it is due.
  bool first_time(const delivered_row& x) {
    bool new_position = ++seen_positions[x.position] == 1;
    bool new_id = !came_often_enough(x.due);
    ++seen[x.due];
    return new_position && new_id;
  }

  void found(fault_kind kind, const step_key& key, const delivered_row& x, std::string text) {
    to.add(kind, key, x.position, to.id_of(x.due), std::move(text));
  }

  void judge_placed(const step_key& key, const delivered_row& x) {
    auto due_step = expected[x.position].step;
    to.report_.bad += x.bad ? 1 : 0;
    placed[x.position] = true;
    if (!first_time(x))
      found(fault_kind::repeated, key, x, "delivered before");
    else if (due_step != key.second)
      found(fault_kind::moved, key, x, "due in step " + std::to_string(due_step));
  }

  void judge_misplaced(const step_key& key, const delivered_row& x) {
    if (due[x.due] == 0)
      return found(fault_kind::extra, key, x, "not in the order");
    bool repeated_id = came_often_enough(x.due);
    if (!first_time(x))
      found(fault_kind::repeated, key, x, "id or position delivered before");
    if (!repeated_id)
      found(fault_kind::moved, key, x, "due at another position");
  }

  /// Judges the rows of a part that are at their place, or those that are not.
  void judge_part(const step_key& at, const delivered_part& part, bool those_placed) {
    for (const auto& x : part.rows)
      if (at_its_place(x) == those_placed)
        those_placed ? judge_placed(at, x) : judge_misplaced(at, x);
  }

  /// Judges rows that were handed over, and trained on, in addition to what was due: the weights
  /// with which their attempt resumed had already seen these steps, whoever handed them over.
  void judge_stray(const step_key& at, const delivered_part& part) {
    for (const auto& x : part.rows)
      if (at_its_place(x))
        found(fault_kind::repeated, at, x, "of a step before the one that its attempt began with");
      else
        judge_misplaced(at, x);
  }

  void judge_missing(std::uint64_t epoch, const job_history& history) {
    for (std::uint64_t p = 0; p < expected.size(); ++p) {
      const auto id = expected[p].id;
      if (id == no_id || placed[p] || came_often_enough(id))
        continue;
      ++seen[id]; // so that each absence of an id that is due several times counts once
      const step_key at{epoch, expected[p].step};
      to.add(fault_kind::lost, at, p, to.id_of(id), why_lost(history, at));
    }
  }
};

void audit::judge(const job_history& history) {
  for (const auto& step : history.steps)
    expected_.try_emplace(step.at.first);
  for (const auto& [epoch, rows] : expected_) {
    epoch_judge judge{*this, rows};
    for (const auto& x : rows)
      if (x.id != no_id)
        ++judge.due[x.id];
    const auto by_epoch = [](const auto& x, std::uint64_t e) { return x.at.first < e; };
    const auto begin =
        std::lower_bound(history.steps.begin(), history.steps.end(), epoch, by_epoch);
    for (bool placed : {true, false})
      for (auto step = begin; step != history.steps.end() && step->at.first == epoch; ++step)
        for (const auto* part : step->ranks)
          judge.judge_part(step->at, *part, placed);
    for (const auto& [at, part] : history.strays)
      if (at.first == epoch)
        judge.judge_stray(at, *part);
    judge.judge_missing(epoch, history);
  }
}

audit_report audit::report() {
  const auto attempts = ordered_attempts();
  compare_attempts(attempts);
  std::map<std::uint64_t, std::uint64_t> steps_of_epoch;
  for (const auto& [epoch, rows] : expected_)
    if (!rows.empty())
      steps_of_epoch.emplace(epoch, rows.back().step + 1);
  const auto history = history_of(attempts, steps_of_epoch);
  judge(history);
  for (const auto& step : history.steps)
    for (const auto* part : step.ranks) {
      report_.rows += part->rows.size();
      report_.digest += part->digest;
    }
  report_.steps = history.steps.size();
  return report_;
}

id_number audit::number_of(const std::string& id) {
  auto [at, is_new] = numbers_.try_emplace(id, static_cast<id_number>(ids_.size()));
  if (is_new)
    ids_.push_back(&at->first);
  return at->second;
}

const std::string& audit::id_of(id_number x) const {
  static const std::string masked = "(masked)";
  return x == no_id ? masked : *ids_[x];
}

std::vector<delivered_row> audit::rows_of(const batch_line& line) {
  std::vector<delivered_row> rows;
  rows.reserve(line.ids.size() + line.bad.size());
  for (std::size_t i = 0; i < line.ids.size(); ++i) {
    auto id = number_of(line.ids[i]);
    rows.push_back({line.positions[i], id, id, false, {}});
    if (!line.pixels.empty())
      rows.back().pixels = line.pixels[i];
  }
  apply_bad(line, rows);
  return rows;
}

/// A bad row names the id that was due and what came instead.
void audit::apply_bad(const batch_line& line, std::vector<delivered_row>& rows) {
  for (const auto& bad : line.bad) {
    auto same = [&](const delivered_row& x) { return x.position == bad.position; };
    auto found = std::find_if(rows.begin(), rows.end(), same);
    auto got = found == rows.end() ? no_id : found->delivered;
    auto listed = bad.substitute ? number_of(*bad.substitute) : no_id;
    if (got != listed)
      add(fault_kind::changed, {line.epoch, line.step}, bad.position, bad.id,
          "bad row: the list says " + id_of(listed) + ", delivered is " + id_of(got));
    if (found == rows.end())
      found = rows.insert(rows.end(), delivered_row{bad.position});
    found->due = number_of(bad.id);
    found->bad = true;
  }
}

void audit::compare(const step_key& key, const delivered_row& was, const delivered_row& now) {
  if (was.due != now.due || was.delivered != now.delivered)
    add(fault_kind::changed, key, now.position, id_of(now.delivered),
        "an earlier attempt delivered " + id_of(was.delivered));
  else if (was.pixels != now.pixels && was.pixels != hash128{} && now.pixels != hash128{})
    add(fault_kind::changed, key, now.position, id_of(now.delivered),
        "an earlier attempt delivered other pixels");
}

void audit::add(fault_kind kind, const step_key& at, std::optional<std::uint64_t> position,
                std::string id, std::string text) {
  if (++report_.counts[static_cast<std::size_t>(kind)] <= listed)
    report_.findings.push_back(
        {kind, at.first, at.second, position, std::move(id), std::move(text)});
}

} // namespace leat::command
