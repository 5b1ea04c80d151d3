#include "tests/cluster/fed_rank.hpp"

#include "tests/cluster/simulated_feed.hpp"
#include "tests/support/catch.hpp"

namespace leat::test {

namespace {

const auto rank_beat = seconds_of(0.25);
const auto silent_feed = seconds_of(2);

} // namespace

fed_rank::fed_rank(feed_world& in, std::uint64_t host) : simulated_process(in.net, host), in_(in) {
  after(seconds_of(in.net.between(0, 0.25)), [this] { tick(); });
}

// -- the link

void fed_rank::tick() {
  if (connection_ && clock() - heard_ > silent_feed)
    hang_up();
  if (!connection_)
    dial();
  else
    in_.net.send(*this, connection_, 20,
                 [to = in_.net.other_end(*this, connection_), from = connection_] {
                   static_cast<simulated_feed*>(to)->on_sign(from);
                 });
  pump();
  say(true);
  after(rank_beat, [this] { tick(); });
}

void fed_rank::dial() {
  auto* to = in_.twin && in_.net.below(3) == 0 ? in_.twin : in_.feed;
  if (!client_ || !to || !to->is_alive())
    return;
  connection_ = in_.net.connect(*this, *to);
  if (!connection_)
    return;
  heard_ = clock();
  is_taken_ = false;
  in_.net.send(*this, connection_, 100,
               [to, from = connection_, this] { to->on_hello(from, *this); });
}

void fed_rank::hang_up() {
  if (connection_)
    in_.net.close(*this, connection_);
  on_closed(connection_);
}

void fed_rank::on_closed(connection_id x) {
  if (x != connection_)
    return;
  connection_ = 0;
  if (client_ && is_taken_)
    client_->unlinked();
  is_taken_ = false;
}

void fed_rank::on_sign(connection_id from) {
  if (from == connection_)
    heard_ = clock();
}

void fed_rank::on_offer(connection_id from, const std::string& bytes) {
  if (from != connection_ || !client_)
    return;
  heard_ = clock();
  const auto offer = decode_feed_offer(bytes);
  REQUIRE(offer);
  if (!is_taken_) {
    if (in_.stream) // one rank has told all others
      client_->expect(*in_.stream);
    if (!client_->refusal_of(*offer).empty())
      return hang_up();
    is_taken_ = true;
    client_->linked();
  }
  client_->heard(*offer);
  in_.stream = in_.stream.value_or(feed_client::known_stream{offer->stream.id, offer->has_journal});
  pump();
}

void fed_rank::on_records(connection_id from, const std::string& bytes) {
  if (from != connection_ || !client_)
    return;
  heard_ = clock();
  const auto records = decode_feed_records(bytes);
  REQUIRE(records);
  for (const auto& x : *records) {
    REQUIRE(client_->receive(x.number, fetched_records::kept(x.content, nullptr)));
    check_bounds();
  }
  pump();
}

void fed_rank::say(bool all) {
  if (!client_ || !is_taken_)
    return;
  client_->starve(batch() == nullptr && waiting_.empty() && claimed_.empty());
  while (const auto want = client_->take_want(all)) {
    for (const auto number : want->fetch) // a resume asks for nothing that its set has covered
      REQUIRE(number / in_.job.lanes >= saved_.begin()->second.at(number % in_.job.lanes));
    in_.net.send(
        *this, connection_, 40 + 8 * want->fetch.size(),
        [to = in_.net.other_end(*this, connection_), from = connection_, bytes = encode(*want)] {
          static_cast<simulated_feed*>(to)->on_want(from, bytes);
        });
  }
}

void fed_rank::check_bounds() {
  const auto held = client_->records().bytes_held();
  in_.note_held(held);
  const auto beyond = 1 + (1 + in_.job.workers) * in_.job.per_row;
  CHECK(held <= in_.job.window + beyond * in_.job.most_bytes);
}

// -- the seat

void fed_rank::let_go() {
  ++life_;
  hang_up();
  client_.reset();
  lanes_.clear();
  waiting_.clear();
  claimed_.clear();
  begun_.clear();
  needs_.clear();
  open_.clear();
  saved_.clear();
}

void fed_rank::sit(const lanes_of_rank& place, std::uint64_t term, std::uint64_t step,
                   const lane_places& places) {
  let_go();
  place_ = place;
  term_ = term;
  step_ = step;
  client_.emplace("queue", in_.job.window, place);
  std::uint64_t lowest = UINT64_MAX;
  std::uint64_t behind = 0;
  for (auto i = place.rank; i < place.lanes; i += place.world_size) {
    const auto at = places.empty() ? 0 : places.at(i);
    lanes_[i].looked = at;
    saved_[step][i] = at;
    lowest = std::min(lowest, i + at * place.lanes);
    behind = std::max(behind, at > 0 ? i + (at - 1) * place.lanes + 1 : 0);
  }
  if (in_.stream)
    client_->expect(*in_.stream);
  if (!places.empty())
    client_->resume(lowest, behind);
  pump();
}

// -- batches

void fed_rank::pump() {
  if (!client_ || !failure().empty())
    return;
  for (bool moves = true; moves;) {
    moves = false;
    for (auto& [i, x] : lanes_) {
      moves = look(i, x) || moves;
      take_items(x);
    }
    moves = open_next() || moves;
  }
  work();
  check_bounds();
  say(false);
  in_.try_train();
}

bool fed_rank::look(std::uint64_t of, lane& x) {
  bool moves = false;
  while (!x.has_ended && x.probes.size() + x.items.size() < in_.job.items_ahead) {
    const auto n = of + x.looked * in_.job.lanes;
    const auto state = client_->look(n);
    x.has_ended = state == live_source::state::ended;
    if (state != live_source::state::ready)
      break;
    ++x.looked;
    x.probes.push_back({n});
    const feed_user user{feed_user::kind::probe, ++users_};
    needs_.open(client_->records(), user, {n});
    waiting_[user] = {.lane = of, .numbers = {n}};
    moves = true;
  }
  return moves;
}

void fed_rank::take_items(lane& x) {
  for (; !x.probes.empty() && x.probes.front().keeps; x.probes.pop_front())
    if (*x.probes.front().keeps)
      x.items.push_back(x.probes.front().number);
}

bool fed_rank::open_next() {
  const auto needed = in_.job.per_row * in_.job.rows_per_lane;
  const auto lacks = [&](const auto& x) { return x.second.items.size() < needed; };
  if (open_.size() >= in_.job.batches_ahead || std::any_of(lanes_.begin(), lanes_.end(), lacks))
    return false;
  auto& batch = open_.emplace_back();
  for (auto& [i, x] : lanes_) {
    for (std::uint64_t r = 0; r < in_.job.rows_per_lane; ++r) {
      std::vector<std::uint64_t> numbers;
      for (std::uint64_t k = 0; k < in_.job.per_row; ++k) {
        numbers.push_back(x.items.front());
        x.items.pop_front();
      }
      batch.places[i] = numbers.back() / in_.job.lanes + 1;
      const feed_user user{feed_user::kind::row, ++users_};
      needs_.open(client_->records(), user, numbers);
      waiting_[user] = {i, std::move(numbers), &batch, r};
      ++batch.left;
    }
    batch.made[i].resize(in_.job.rows_per_lane);
  }
  return true;
}

/// Workers take what is needed first, and wait for it.
void fed_rank::work() {
  while (claimed_.size() < in_.job.workers && !waiting_.empty()) {
    needs_.await(client_->records(), waiting_.begin()->first);
    claimed_.insert(*waiting_.begin());
    waiting_.erase(waiting_.begin());
  }
  for (const auto& [user, x] : claimed_)
    if (needs_.are_here(client_->records(), user) && begun_.insert(user).second)
      after(seconds_of(in_.net.between(0.0001, 0.003)), [this, user = user, life = life_] {
        if (life == life_)
          finish(user);
      });
}

void fed_rank::finish(const feed_user& user) {
  const auto x = claimed_.at(user);
  std::string content;
  for (const auto number : x.numbers)
    content += *client_->records().find(number);
  needs_.close(client_->records(), user);
  claimed_.erase(user);
  begun_.erase(user);
  if (x.batch) {
    x.batch->made[x.lane][x.index] = std::move(content);
    --x.batch->left;
  } else {
    auto& probes = lanes_.at(x.lane).probes;
    const auto found = std::find_if(probes.begin(), probes.end(),
                                    [&](const probe& p) { return p.number == x.numbers.front(); });
    found->keeps = in_.job.keeps(content);
  }
  pump();
}

const std::map<std::uint64_t, std::vector<std::string>>* fed_rank::batch() const {
  return open_.empty() || open_.front().left > 0 ? nullptr : &open_.front().made;
}

bool fed_rank::is_at_end() const {
  const auto needed = in_.job.per_row * in_.job.rows_per_lane;
  const auto is_over = [&](const auto& x) {
    return x.second.has_ended && x.second.probes.empty() && x.second.items.size() < needed;
  };
  return client_ && open_.empty() && std::any_of(lanes_.begin(), lanes_.end(), is_over);
}

void fed_rank::trained() {
  const auto places = open_.front().places;
  open_.pop_front();
  ++step_;
  if (!in_.has_journal()) {
    saved_ = {{step_, places}};
    cover();
  } else {
    if (step_ % in_.job.save_every == 0) {
      saved_[step_] = places;
      in_.save(term_, step_, places);
    }
    // It hears late of what was stored, or never.
    if (const auto oldest = in_.oldest_set(); oldest && in_.net.below(3) > 0)
      stored(*oldest);
  }
  pump();
}

/// Sets before this one are gone. One that was stored before this rank had its seat, it does not
/// know, and covers nothing.
void fed_rank::stored(std::uint64_t oldest) {
  while (saved_.begin()->first < oldest)
    saved_.erase(saved_.begin());
  if (saved_.begin()->first == oldest)
    cover();
}

void fed_rank::cover() {
  for (const auto& [i, at] : saved_.begin()->second)
    client_->cover(i + at * in_.job.lanes, i);
}

std::string fed_rank::describe() const {
  return "rank " + std::to_string(place_.rank) + " of " + std::to_string(place_.world_size)
         + (client_ ? "" : " has no seat") + (is_taken_ ? "" : " has no link")
         + (is_alive() ? "" : " is dead") + (is_stopped() ? " is stopped" : "") + ", "
         + std::to_string(waiting_.size()) + " tasks wait, " + std::to_string(claimed_.size())
         + " are claimed, " + std::to_string(open_.size()) + " batches are open"
         + (client_ && client_->offer()
                ? ", records from " + std::to_string(client_->offer()->first) + " to "
                      + std::to_string(client_->offer()->next)
                : ", no records");
}

} // namespace leat::test
