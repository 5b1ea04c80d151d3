#include "runtime/snapshot.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace leat {

namespace {

std::string text_of(const std::map<std::string, std::string>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += ' ' + name + '=' + value;
  return text;
}

std::string text_of(const shuffle_options& x) {
  switch (x.kind) {
  case shuffle_kind::none:
    return "none";
  case shuffle_kind::full:
    return "full";
  case shuffle_kind::windowed:
    return "windowed over " + std::to_string(x.window) + " files";
  }
  return "unknown";
}

using map_names = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const map_names& maps) {
  std::string text;
  for (const auto& [name, parameters] : maps)
    text += (text.empty() ? "" : ", ") + name + (parameters.empty() ? "" : " (" + parameters + ')');
  return text.empty() ? "none" : text;
}

/// Those of `maps` that `others` does not have.
map_names only_in(const map_names& maps, const map_names& others) {
  map_names only;
  for (const auto& map : maps)
    if (std::find(others.begin(), others.end(), map) == others.end())
      only.push_back(map);
  return only;
}

std::string text_of(const std::vector<std::string>& fields) {
  std::string text;
  for (const auto& field : fields)
    text += (text.empty() ? "" : ", ") + field;
  return text.empty() ? "all" : text;
}

std::string text_of(epoch_end x) {
  return x == epoch_end::drop ? "drop" : "mask";
}

bool is_windowed(const pipeline_facts& x) {
  return x.shuffle.kind == shuffle_kind::windowed;
}

/// The step of a batch of `rows` that begins where the snapshot stands; empty where none does.
std::optional<std::uint64_t> step_of_rows(const snapshot& taken, std::uint64_t rows) {
  if (rows == taken.pipeline.batch_rows)
    return taken.step;
  std::uint64_t done = 0;
  if (rows == 0 || __builtin_mul_overflow(taken.step, taken.pipeline.batch_rows, &done)
      || done % rows != 0)
    return std::nullopt;
  return done / rows;
}

/// Collects differences: each text names both values.
class comparison {
public:
  comparison(const snapshot& taken, const pipeline_facts& now)
      : taken_(taken), before_(taken.pipeline), now_(now) {}

  std::vector<difference> all() && {
    source();
    data();
    order();
    stages();
    return std::move(found_);
  }

private:
  void add(std::string name, const std::string& before, const std::string& now, bool can_allow) {
    auto text = name + ": snapshot " + before + ", pipeline " + now;
    found_.push_back({std::move(name), std::move(text), can_allow});
  }

  void source() {
    if (before_.source_kind != now_.source_kind
        || before_.source_parameters != now_.source_parameters)
      add("source", before_.source_kind + text_of(before_.source_parameters),
          now_.source_kind + text_of(now_.source_parameters), false);
  }

  /// Says what differs in the largest measure only: other files hold other names, too.
  void data() {
    const auto& a = before_.data;
    const auto& b = now_.data;
    auto extent = [](const source_facts& x) {
      return std::to_string(x.files) + " files of " + std::to_string(x.bytes) + " bytes";
    };
    if (a.records != b.records)
      add("records", std::to_string(a.records), std::to_string(b.records), false);
    else if (a.files != b.files || a.bytes != b.bytes)
      add("files", extent(a), extent(b), false);
    else if (a.digest != b.digest)
      // The digest is a key of the order: in mid-epoch, rows would be lost and repeated.
      add("names", "data digest " + to_string(a.digest), to_string(b.digest), taken_.step == 0);
  }

  void order() {
    const auto& a = before_.shuffle;
    const auto& b = now_.shuffle;
    if (a.seed != b.seed)
      add("seed", std::to_string(a.seed), std::to_string(b.seed), false);
    if (a.kind != b.kind || (is_windowed(now_) && a.window != b.window))
      add("shuffle", text_of(a), text_of(b), false);
    const bool windowed = is_windowed(before_) || is_windowed(now_);
    if (before_.batch_rows != now_.batch_rows)
      add("rows",
          std::to_string(before_.batch_rows) + " a batch and " + std::to_string(taken_.step)
              + " batches into the epoch",
          std::to_string(now_.batch_rows),
          !windowed && step_of_rows(taken_, now_.batch_rows).has_value());
    if (before_.lanes != now_.lanes)
      add("lanes", std::to_string(before_.lanes), std::to_string(now_.lanes), !windowed);
    if (before_.end != now_.end)
      add("end", text_of(before_.end), text_of(now_.end), true);
  }

  void stages() {
    maps();
    if (before_.fields != now_.fields)
      add("fields", text_of(before_.fields), text_of(now_.fields), true);
  }

  void maps() {
    if (before_.maps == now_.maps)
      return;
    const auto gone = only_in(before_.maps, now_.maps);
    const auto come = only_in(now_.maps, before_.maps);
    const bool same_in_other_order = gone.empty() && come.empty();
    add("maps", text_of(same_in_other_order ? before_.maps : gone),
        text_of(same_in_other_order ? now_.maps : come), true);
  }

  const snapshot& taken_;
  const pipeline_facts& before_;
  const pipeline_facts& now_;
  std::vector<difference> found_;
};

[[noreturn]] void throw_mismatch(const std::string& differences) {
  throw error(errc::mismatch, {.stage = "snapshot",
                               .got = "a snapshot of another pipeline",
                               .needed = "no difference in" + differences});
}

[[noreturn]] void refuse_parts(std::string got, std::string needed) {
  throw error(errc::bad_snapshot,
              {.stage = "snapshot", .got = std::move(got), .needed = std::move(needed)});
}

std::string position_of(const snapshot& x) {
  return "epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step) + " (step "
         + std::to_string(x.global_step) + " of the job, " + std::to_string(x.world_size)
         + " ranks, in a run that began at step " + std::to_string(x.began) + ')';
}

void check_same_state(const snapshot& a, const snapshot& b) {
  if (position_of(a) != position_of(b))
    refuse_parts("a part of " + position_of(b), position_of(a));
  for (const auto& x : compare(a, b.pipeline))
    refuse_parts("parts of different pipelines, " + x.text, "parts of one");
}

void check_rank(const snapshot& part, std::set<std::uint64_t>& seen) {
  if (part.rank >= part.world_size)
    refuse_parts("rank " + std::to_string(part.rank),
                 "a rank below the world size " + std::to_string(part.world_size));
  if (!seen.insert(part.rank).second)
    refuse_parts("rank " + std::to_string(part.rank) + " twice", "each rank once");
}

/// The first few ranks that are not in `seen`; there may be any number.
std::string missing_ranks(const std::set<std::uint64_t>& seen, std::uint64_t world_size) {
  constexpr std::uint64_t most = 16;
  const auto missing = world_size - seen.size();
  std::string text = missing == 1 ? "no part of rank" : "no parts of ranks";
  std::uint64_t named = 0;
  for (std::uint64_t rank = 0; named < std::min(missing, most); ++rank)
    if (!seen.contains(rank))
      text += (named++ == 0 ? " " : ", ") + std::to_string(rank);
  return missing > named ? text + " and " + std::to_string(missing - named) + " more" : text;
}

} // namespace

std::vector<difference> compare(const snapshot& taken, const pipeline_facts& now) {
  return comparison{taken, now}.all();
}

void check(const snapshot& taken, const pipeline_facts& now,
           const std::vector<std::string>& allowed) {
  std::string refused;
  for (const auto& x : compare(taken, now)) {
    const bool is_allowed = std::find(allowed.begin(), allowed.end(), x.name) != allowed.end();
    if (!x.can_allow || !is_allowed)
      refused +=
          "\n  " + x.text
          + (x.can_allow ? " (can be allowed as \"" + x.name + "\")" : " (cannot be allowed)");
  }
  if (!refused.empty())
    throw_mismatch(refused);
}

std::uint64_t step_for(const snapshot& taken, const pipeline_facts& now) {
  const auto step = step_of_rows(taken, now.batch_rows);
  if (!step)
    throw_mismatch("\n  rows: snapshot " + std::to_string(taken.step) + " batches of "
                   + std::to_string(taken.pipeline.batch_rows) + ", pipeline "
                   + std::to_string(now.batch_rows) + " a batch (cannot be allowed)");
  return *step;
}

snapshot merge(const std::vector<snapshot>& parts, bool require_all) {
  if (parts.empty())
    refuse_parts("no parts", "at least one");
  // The lowest rank gives what is not summed, so that the order of the parts does not matter.
  auto sum = *std::min_element(parts.begin(), parts.end(),
                               [](auto& a, auto& b) { return a.rank < b.rank; });
  sum.sums = {};
  std::set<std::uint64_t> seen;
  for (const auto& part : parts) {
    check_same_state(sum, part);
    check_rank(part, seen);
    sum.sums += part.sums;
  }
  if (seen.size() < sum.world_size) {
    if (require_all)
      refuse_parts(missing_ranks(seen, sum.world_size),
                   "all " + std::to_string(sum.world_size) + " parts");
    sum.sums.partial = true;
  }
  return sum;
}

} // namespace leat
