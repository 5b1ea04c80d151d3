#include "demos/command/audit.hpp"

#include "runtime/digest.hpp"

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

/// Positions that may be missing in a row: fewer than lanes.
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
    throw std::runtime_error(name + "the digest does not fit the rows");
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
    // Where lanes are dry before others, positions are missing.
    rows.resize(position, {no_id, line.step});
    rows.push_back({number_of(line.ids[i]), line.step});
  }
}

void audit::deliver(const batch_line& line) {
  const step_key key{line.epoch, line.step};
  if (digest_of_rows(line) != line.digest)
    add(fault_kind::changed, key, {}, {}, "the digest does not fit the rows");
  auto rows = rows_of(line);
  for (const auto& x : rows)
    compare_with_earlier(key, x);
  auto& step = current_[key];
  step.world_size = std::max(step.world_size, line.world_size);
  auto& rank = step.ranks[line.rank.value_or(0)];
  rank.rows.insert(rank.rows.end(), rows.begin(), rows.end());
  rank.digest += line.digest;
}

void audit::end_attempt() {
  ++report_.attempts;
  for (auto& [key, step] : current_) {
    for (const auto& [number, rank] : step.ranks)
      for (const auto& x : rank.rows)
        earlier_[key.first].insert_or_assign(x.position, x);
    if (step.complete())
      counted_.insert_or_assign(key, std::move(step));
    else if (!counted_.contains(key))
      complete_from_parts(key, step);
  }
  current_.clear();
}

/// Adds the ranks of an attempt that did not complete the step to those of earlier ones.
void audit::complete_from_parts(const step_key& key, step_rows& step) {
  auto& whole = incomplete_[key];
  if (whole.world_size != step.world_size)
    whole = {step.world_size, {}};
  for (auto& [number, rank] : step.ranks)
    whole.ranks.insert_or_assign(number, std::move(rank));
  if (whole.complete())
    counted_.insert_or_assign(key, std::move(whole));
}

/// Judges the counted rows of one epoch. Rows at their place come first: of an id that was
/// delivered at its place and elsewhere, the one elsewhere is the repeated one.
struct audit::epoch_judge {
  audit& to;
  const std::vector<expected_row>& expected;
  /// How often each id is due in the epoch, and how often it came.
  std::vector<std::uint32_t> due = std::vector<std::uint32_t>(to.ids_.size());
  std::vector<std::uint32_t> seen = std::vector<std::uint32_t>(to.ids_.size());
  std::vector<bool> placed = std::vector<bool>(expected.size());
  std::unordered_map<std::uint64_t, std::uint64_t> seen_positions = {};

  bool at_its_place(const row& x) const {
    return x.position < expected.size() && expected[x.position].id == x.due;
  }

  bool came_often_enough(id_number id) const { return seen[id] >= due[id]; }

  /// False where the position was there before, or the id as often as it is due.
  bool first_time(const row& x) {
    bool new_position = ++seen_positions[x.position] == 1;
    bool new_id = !came_often_enough(x.due);
    ++seen[x.due];
    return new_position && new_id;
  }

  void found(fault_kind kind, const step_key& key, const row& x, std::string text) {
    to.add(kind, key, x.position, to.id_of(x.due), std::move(text));
  }

  void judge_placed(const step_key& key, const row& x) {
    auto due_step = expected[x.position].step;
    to.report_.bad += x.bad ? 1 : 0;
    placed[x.position] = true;
    if (!first_time(x))
      found(fault_kind::repeated, key, x, "delivered before");
    else if (due_step != key.second)
      found(fault_kind::moved, key, x, "due in step " + std::to_string(due_step));
  }

  void judge_misplaced(const step_key& key, const row& x) {
    if (due[x.due] == 0)
      return found(fault_kind::extra, key, x, "not in the order");
    bool repeated_id = came_often_enough(x.due);
    if (!first_time(x))
      found(fault_kind::repeated, key, x, "id or position delivered before");
    if (!repeated_id)
      found(fault_kind::moved, key, x, "due at another position");
  }

  void judge_missing(std::uint64_t epoch) {
    for (std::uint64_t p = 0; p < expected.size(); ++p) {
      const auto id = expected[p].id;
      if (id == no_id || placed[p] || came_often_enough(id))
        continue;
      ++seen[id]; // of an id that is due several times each absence counts once
      to.add(fault_kind::lost, {epoch, expected[p].step}, p, to.id_of(id), "never delivered");
    }
  }
};

audit_report audit::report() {
  if (!current_.empty())
    end_attempt();
  for (const auto& [key, step] : counted_)
    expected_.try_emplace(key.first);
  for (const auto& [epoch, rows] : expected_) {
    epoch_judge judge{*this, rows};
    for (const auto& x : rows)
      if (x.id != no_id)
        ++judge.due[x.id];
    auto begin = counted_.lower_bound({epoch, 0});
    auto end = counted_.upper_bound({epoch, UINT64_MAX});
    for (bool placed : {true, false})
      for (auto at = begin; at != end; ++at)
        for (const auto& [number, rank] : at->second.ranks)
          for (const auto& x : rank.rows)
            if (judge.at_its_place(x) == placed)
              placed ? judge.judge_placed(at->first, x) : judge.judge_misplaced(at->first, x);
    judge.judge_missing(epoch);
  }
  for (const auto& [key, step] : counted_)
    for (const auto& [number, rank] : step.ranks) {
      report_.rows += rank.rows.size();
      report_.digest += rank.digest;
    }
  report_.steps = counted_.size();
  return report_;
}

audit::id_number audit::number_of(const std::string& id) {
  auto [at, is_new] = numbers_.try_emplace(id, static_cast<id_number>(ids_.size()));
  if (is_new)
    ids_.push_back(&at->first);
  return at->second;
}

const std::string& audit::id_of(id_number x) const {
  static const std::string masked = "(masked)";
  return x == no_id ? masked : *ids_[x];
}

std::vector<audit::row> audit::rows_of(const batch_line& line) {
  std::vector<row> rows;
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

/// A bad row stands for the id that was due, and says what came instead.
void audit::apply_bad(const batch_line& line, std::vector<row>& rows) {
  for (const auto& bad : line.bad) {
    auto same = [&](const row& x) { return x.position == bad.position; };
    auto found = std::find_if(rows.begin(), rows.end(), same);
    auto got = found == rows.end() ? no_id : found->delivered;
    auto said = bad.substitute ? number_of(*bad.substitute) : no_id;
    if (got != said)
      add(fault_kind::changed, {line.epoch, line.step}, bad.position, bad.id,
          "bad row: the list says " + id_of(said) + ", delivered is " + id_of(got));
    if (found == rows.end())
      found = rows.insert(rows.end(), row{bad.position});
    found->due = number_of(bad.id);
    found->bad = true;
  }
}

void audit::compare_with_earlier(const step_key& key, const row& now) {
  auto epoch = earlier_.find(key.first);
  if (epoch == earlier_.end())
    return;
  auto before = epoch->second.find(now.position);
  if (before == epoch->second.end())
    return;
  const auto& was = before->second;
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
