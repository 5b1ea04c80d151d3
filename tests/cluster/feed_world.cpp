#include "tests/cluster/feed_world.hpp"

#include "runtime/sources/journal/frame.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "runtime/sources/live/memory_records.hpp"
#include "tests/cluster/fed_rank.hpp"
#include "tests/cluster/simulated_feed.hpp"
#include "tests/support/catch.hpp"

namespace leat::test {

namespace {

std::uint64_t mixed(std::uint64_t x) {
  std::mt19937_64 next{x};
  return next();
}

bool is_here(const fed_rank* x) {
  return x->is_alive() && !x->is_stopped();
}

} // namespace

// -- the job

fed_job::fed_job(simulated_network& net)
    : seed(net.below(1 << 30)), lanes(net.one_of({1, 2, 3, 4, 6})), records(net.below(300)),
      per_row(1 + net.below(3)), rows_per_lane(1 + net.below(3)), kept(net.one_of({100, 90, 60})),
      kept_of_lane_0(net.one_of({100, 50, 20})), most_bytes(net.one_of({20, 200, 3000})),
      window(1 + net.below(3000)),
      ahead({.records = 1 + net.below(50), .bytes = 1 + net.below(5000)}),
      items_ahead(per_row * rows_per_lane + net.below(10)), batches_ahead(1 + net.below(3)),
      workers(1 + net.below(4)), save_every(1 + net.below(4)), sets_kept(1 + net.below(3)) {}

std::string fed_job::content_of(std::uint64_t number) const {
  const auto chance = mixed(seed + 7919 * number);
  const auto percent = number % lanes == 0 ? kept_of_lane_0 : kept;
  auto text = (chance % 100 < percent ? "+" : "-") + std::to_string(number) + ' ';
  const auto size = (chance >> 8) % most_bytes;
  if (text.size() < size)
    text.resize(size, 'r');
  return text;
}

bool fed_job::keeps(std::string_view content) const {
  return content.starts_with('+');
}

std::vector<std::vector<std::string>> fed_job::batches() const {
  std::vector<std::vector<std::string>> rows(lanes);
  for (std::uint64_t i = 0; i < lanes; ++i) {
    std::uint64_t parts = 0;
    for (auto n = i; n < records; n += lanes) {
      const auto content = content_of(n);
      if (!keeps(content))
        continue;
      if (parts++ % per_row == 0)
        rows[i].emplace_back();
      rows[i].back() += content;
    }
    if (parts % per_row != 0)
      rows[i].pop_back();
  }
  std::vector<std::vector<std::string>> all;
  for (std::size_t first = 0;; first += rows_per_lane) {
    std::vector<std::string> batch;
    for (const auto& x : rows) {
      if (x.size() < first + rows_per_lane)
        return all;
      batch.insert(batch.end(), x.begin() + static_cast<std::ptrdiff_t>(first),
                   x.begin() + static_cast<std::ptrdiff_t>(first + rows_per_lane));
    }
    all.push_back(std::move(batch));
  }
}

// -- what outlives processes

feed_world::feed_world(std::uint64_t seed, const wish& wanted)
    : net(seed), job(net), how(wanted), expected(job.batches()) {
  if (how.records == storage::files)
    directory_.emplace();
  net.in(seconds_of(net.between(0, 1)), [this] { start_feed(); });
  for (std::uint64_t i = 0; i < how.ranks; ++i)
    ranks_.push_back(&net.start<fed_rank>(*this, i + 1));
  if (how.has_twin)
    net.in(seconds_of(1.5), [this] { twin = &net.start<simulated_feed>(*this, true); });
  for (std::uint64_t i = 0; i < how.faults; ++i)
    net.in(seconds_of(net.between(0, 1) * static_cast<double>(how.storm.count()) / 1e9),
           [this] { strike(); });
  net.in(seconds_of(0.1), [this] { regroup(); });
}

feed_world::~feed_world() = default;

void feed_world::start_feed() {
  if (feed && feed->is_alive())
    return;
  feed = &net.start<simulated_feed>(*this, false);
}

record_store& feed_world::open_records() {
  if (how.records == storage::files) {
    records_.reset(); // with its lock
    records_ = std::make_unique<journal>(
        directory_->path(),
        journal_format{.format = record_format::frames, .file_bytes = 1 + net.below(3000)});
  } else if (how.records == storage::memory || !records_) {
    records_ = std::make_unique<memory_records>();
  }
  return *records_;
}

feed_identity feed_world::identity_for(std::uint64_t records) {
  const auto drawn = ++streams_;
  const feed_identity own{.stream = {"queue", {drawn, 1}}, .format = feed_format::samples};
  if (how.records == storage::files)
    return identity_ = identity_in(directory_->path(), own, records);
  if (how.records == storage::memory || identity_.stream.name.empty())
    identity_ = own;
  return identity_;
}

void feed_world::note_end(std::uint64_t records) {
  if (how.records == storage::files)
    note_end_of_feed(directory_->path(), identity_, records);
  else
    identity_.ended_at = records;
}

/// What a process that was killed in the middle of a write may leave.
void feed_world::tear_tail() {
  std::string last;
  for (const auto& x : std::filesystem::directory_iterator{directory_->path()})
    if (x.path().extension() == ".frames")
      last = std::max(last, x.path().string());
  const auto frame = make_frame(records_->next(), "never seen");
  std::ofstream{last, std::ios::binary | std::ios::app} << frame.substr(0, net.below(frame.size()));
}

void feed_world::save(std::uint64_t term, std::uint64_t at, const lane_places& part) {
  if (term != term_)
    return;
  auto& parts = parts_[at];
  parts.insert(part.begin(), part.end());
  if (parts.size() < job.lanes)
    return;
  net.in(seconds_of(net.between(0.001, 0.05)), [this, term, at, parts] {
    if (term != term_ || !has_coordinator_)
      return;
    sets_[at] = parts;
    ++sets_stored_;
    while (sets_.size() > job.sets_kept)
      sets_.erase(sets_.begin());
  });
}

std::optional<std::uint64_t> feed_world::oldest_set() const {
  return sets_.empty() ? std::nullopt : std::optional{sets_.begin()->first};
}

void feed_world::note_held(std::uint64_t bytes) {
  most_bytes_held_ = std::max(most_bytes_held_, bytes);
}

// -- terms and steps

/// Begins a term with those who are there, if one has been lost. Any set that is kept will do.
void feed_world::regroup() {
  net.in(seconds_of(0.3), [this] { regroup(); });
  std::vector<fed_rank*> there;
  std::copy_if(ranks_.begin(), ranks_.end(), std::back_inserter(there),
               [](const auto* x) { return x->is_alive(); });
  const bool is_whole =
      !seated_.empty()
      && std::all_of(seated_.begin(), seated_.end(), [](const auto* x) { return x->is_alive(); });
  if (is_whole || there.empty() || !has_coordinator_)
    return;
  auto world = 1 + net.below(there.size());
  while (job.lanes % world != 0)
    --world;
  std::uint64_t start = 0;
  lane_places places;
  if (!sets_.empty()) {
    const auto& [at, parts] =
        *std::next(sets_.begin(), static_cast<std::ptrdiff_t>(net.below(sets_.size())));
    start = at;
    places = parts;
    sets_.erase(sets_.upper_bound(start), sets_.end());
  }
  times_taken_back_ += term_ > 0 ? 1 : 0;
  trained_.resize(start);
  parts_.clear();
  is_stepping_ = false;
  ++term_;
  seated_.assign(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(world));
  for (std::size_t i = 0; i < there.size(); ++i)
    if (i < world)
      there[i]->take([x = there[i], place = lanes_of_rank{job.lanes, world, i}, term = term_, start,
                      places] { x->sit(place, term, start, places); });
    else
      there[i]->take([x = there[i]] { x->let_go(); });
}

void feed_world::try_train() {
  const auto has_batch = [&](const fed_rank* x) {
    return is_here(x) && x->term() == term_ && x->step() == step() && x->batch();
  };
  if (is_stepping_ || seated_.empty() || !std::all_of(seated_.begin(), seated_.end(), has_batch))
    return;
  std::map<std::uint64_t, std::vector<std::string>> lanes;
  for (const auto* x : seated_)
    lanes.insert(x->batch()->begin(), x->batch()->end());
  std::vector<std::string> rows;
  for (const auto& [lane, made] : lanes)
    rows.insert(rows.end(), made.begin(), made.end());
  is_stepping_ = true;
  net.in(seconds_of(net.between(0.001, 0.02)), [this, term = term_, rows] {
    if (term != term_)
      return;
    is_stepping_ = false;
    if (!std::all_of(seated_.begin(), seated_.end(), [](const auto* x) { return x->is_alive(); }))
      return; // a collective would not have come to its end
    trained_.push_back(rows);
    for (auto* x : seated_)
      x->take([x, term] {
        if (x->term() == term)
          x->trained();
      });
  });
}

bool feed_world::is_over() const {
  const auto has_failed = [](const fed_rank* x) { return !x->failure().empty(); };
  const auto has_ended = [&](const fed_rank* x) {
    return is_here(x) && x->term() == term_ && x->step() == step() && x->is_at_end();
  };
  return !seated_.empty()
         && (std::any_of(seated_.begin(), seated_.end(), has_failed) // it tells all others
             || std::any_of(seated_.begin(), seated_.end(), has_ended));
}

std::map<std::uint64_t, std::string> feed_world::failures() const {
  std::map<std::uint64_t, std::string> found;
  for (std::size_t i = 0; i < seated_.size(); ++i)
    if (!seated_[i]->failure().empty())
      found[i] = seated_[i]->failure();
  return found;
}

void feed_world::run() {
  constexpr double limit = 600;
  for (double until = 0.05; until < limit && !is_over(); until += 0.05)
    net.run(seconds_of(until));
  if (is_over())
    return;
  std::string all = "stuck at step " + std::to_string(step());
  for (const auto* x : seated_)
    all += "\n" + x->describe();
  if (feed)
    all += "\nfeed: records from " + std::to_string(feed->server().state().first) + " to "
           + std::to_string(feed->server().state().next) + " of " + std::to_string(job.records)
           + ", wanted " + std::to_string(feed->server().wanted())
           + (feed->is_alive() ? "" : " is dead");
  FAIL(all);
}

// -- the weather

void feed_world::strike() {
  auto* const rank = ranks_[net.below(ranks_.size())];
  auto* const any = net.below(3) == 0 && feed ? static_cast<simulated_process*>(feed) : rank;
  const bool is_told = net.happens(0.7);
  switch (net.below(7)) {
  case 0:
    if (feed && how.kills_feeds && feed->is_alive()) {
      net.kill(*feed, is_told);
      if (how.records == storage::files)
        tear_tail();
      net.in(seconds_of(net.between(0, 3)), [this] { start_feed(); });
    }
    return;
  case 1:
    if (how.kills_ranks && rank->is_alive()) {
      net.kill(*rank, is_told);
      net.in(seconds_of(net.between(0, 3)), [this, rank] {
        *std::find(ranks_.begin(), ranks_.end(), rank) = &net.start<fed_rank>(*this, rank->host());
      });
    }
    return;
  case 2:
    has_coordinator_ = false;
    net.in(seconds_of(net.between(0, 3)), [this] { has_coordinator_ = true; });
    return;
  case 3:
    return net.pause(*any, seconds_of(net.between(0, 4)));
  case 4:
    if (feed)
      net.break_between(*rank, *feed, is_told);
    return;
  case 5:
    if (feed)
      net.cut(rank->host(), feed->host(), seconds_of(net.between(0, 4)),
              // connections that survive would have to keep their order
              net.one_of({simulated_network::cut_kind::told, simulated_network::cut_kind::silent}));
    return;
  default:
    net.slow_down(*any, net.one_of({5, 30}), seconds_of(net.between(0, 4)));
  }
}

} // namespace leat::test
