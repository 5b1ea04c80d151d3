#include "runtime/lending/row_lender.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/lending/deal_rows.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/piece_intake.hpp"
#include "runtime/lending/result_check.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/network/links/payload_room.hpp"
#include "runtime/network/links/refusal_log.hpp"
#include "runtime/rows/row_codec.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leat {

namespace {

/// Of what helpers have made: enough that none of them waits for a grant.
constexpr std::int64_t window_of_rows = std::int64_t{8} << 20;
constexpr std::int64_t between_signs_of_life = 1'000'000'000;
/// Characters of a text that is repeated to users.
constexpr std::size_t most_version = 64;
/// For helpers that end the connection themselves, once they hear that the job is over.
constexpr std::chrono::milliseconds farewell{200};

row_lender_config completed(row_lender_config x) {
  if (!x.log)
    x.log = [](const std::string&) {};
  return x;
}

} // namespace

/// One helper's connection. All but the calls of it belong to the lender's mutex.
class row_lender::link final : public bulk_owner {
public:
  link(row_lender& of, std::uint64_t its_number, std::string its_address)
      : number(its_number), address(std::move(its_address)), of_(of),
        pieces_(of.large_rows_, most_whole_bytes) {}
  /// Waits for the thread that calls back.
  ~link() override { connection_.reset(); }

  /// Takes the peer over. Its thread calls back, and waits for the mutex.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_from(link_role::worker), *this);
    wire = &*connection_;
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    return payload_.take(x.payload);
  }
  void receive(const bulk_head& x, bulk_room) override {
    const auto bytes = payload_.received(x.payload);
    if (x.kind != frame_kind::row)
      receive_note(x);
    else if (x.words.empty() && !pieces_.is_open())
      of_.receive_rows(*this, x, bytes);
    else
      receive_piece(x, bytes);
  }
  void may_send() override { of_.flush(*this); }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  void tell(const lending_note& x) {
    out.send(*wire, frame_of(x));
    if (out.is_overfull())
      give_up("it does not take what it is told");
  }
  void give_up(const char* why) {
    if (why_ended.empty()) // else it was refused
      why_ended = why;
    wire->cut();
  }

  const std::uint64_t number;
  const std::string address;
  waiting_frames out = {};
  std::uint64_t window = 0;
  std::uint64_t cores = 0;
  bool has_data = false;
  bool has_asked = false;
  bool is_ready = false;
  /// When it was told why it is not to help; it is cut off a while later, if it is still there.
  std::int64_t refused_at = 0;
  bool has_ended = false;
  std::string why_ended = {};
  /// When a piece of a row came that was not the last one.
  std::int64_t piece_at = 0;
  /// There until this is gone.
  bulk_connection* wire = nullptr;
  /// Of the connection's thread: it has said that it cannot help.
  bool has_declined = false;
  /// Likewise: what a processor had spent on the thread when it was done with the last frame.
  std::int64_t work = 0;

private:
  void receive_note(const bulk_head& x) {
    of_.hear_note(*this, x.words);
    const mutex_lock lock{of_.mutex_};
    of_.state_.heard(number, steady_ns());
    wire->grant(x.cost());
    work = processor_ns();
  }
  void receive_piece(const bulk_head& x, std::string_view bytes) {
    const auto found = pieces_.add(x.number, x.words, bytes);
    if (found.bytes)
      return of_.receive_rows(*this, x, {found.bytes->data(), found.bytes->size()});
    const auto now = steady_ns();
    const mutex_lock lock{of_.mutex_};
    piece_at = found.is_whole ? 0 : now;
    if (found.is_whole)
      of_.state_.declined(number, x.number, found.index, now);
    of_.state_.heard(number, now);
    wire->grant(x.cost());
    of_.now_.tell(of_.changed_);
  }

  row_lender& of_;
  std::optional<bulk_connection> connection_;
  // Of the connection's thread: of the frame that is coming, and of the row that is.
  payload_room payload_;
  piece_intake pieces_;
};

row_lender::row_lender(row_lender_config config)
    : config_(completed(std::move(config))),
      large_rows_(static_cast<std::uint64_t>(config_.settings.budget)),
      taken_(std::make_shared<listener>([this] {
        const mutex_lock lock{mutex_};
        now_.tell(changed_);
      })),
      writer_(config_.data, *config_.plan), state_(config_.settings) {
  auto guard = config_.guard;
  guard.rules.as = link_role::rank;
  guard.rules.roles = {link_role::worker};
  guard.log = config_.log;
  guard_ = std::make_unique<port_guard>(std::move(guard));
}

row_lender::~row_lender() {
  while (!end(std::chrono::steady_clock::now() + std::chrono::hours{1})) {
  }
}

void row_lender::begin(row_lender_calls calls) {
  calls_ = std::move(calls);
  thread_ = begin_thread("lender", [this] {
    try {
      run();
    } catch (...) {
      calls_.failed(error_in_flight(errc::io, {.stage = "lender"}));
    }
    const mutex_lock lock{mutex_};
    now_.has_stopped = true;
    changed_.notify_all();
  });
  guard_->begin([this](connected_peer x) { admit(std::move(x)); });
}

bool row_lender::end(std::chrono::steady_clock::time_point until) noexcept {
  guard_ = nullptr;
  taken_->end();
  std::map<std::uint64_t, std::unique_ptr<link>> links;
  {
    const mutex_lock lock{mutex_};
    now_.is_ending = true;
    changed_.notify_all();
    std::vector<link*> told;
    try {
      for (const auto& [number, x] : links_)
        if (x->is_ready && !x->has_ended) {
          x->tell({.what = lending_note::kind::over});
          told.push_back(x.get());
        }
    } catch (...) { // no memory: they find that the connection has ended
    }
    const auto has_ended = [](const link* x) { return x->has_ended; };
    const auto soon = std::chrono::steady_clock::now() + farewell;
    while (!std::all_of(told.begin(), told.end(), has_ended) && changed_.wait_until(mutex_, soon)) {
    }
    links.swap(links_);
  }
  links.clear(); // waits for their threads
  if (thread_.joinable()) {
    {
      const mutex_lock lock{mutex_};
      while (!now_.has_stopped)
        if (!changed_.wait_until(mutex_, until) && !now_.has_stopped)
          return false;
    }
    thread_.join();
  }
  calls_ = {}; // who is called may own this
  return true;
}

void row_lender::opened(const std::shared_ptr<batch_slot>& slot) {
  const mutex_lock lock{mutex_};
  if (now_.is_ending)
    return;
  state_.opened(slot);
  now_.tell(changed_);
}

row_lender_stats row_lender::stats() const {
  const mutex_lock lock{mutex_};
  auto x = stats_;
  static_cast<lender_counts&>(x) = state_.counts();
  for (const auto& [number, link] : links_)
    if (link->is_ready && !link->has_ended) {
      ++x.helpers;
      x.cores += link->cores;
    }
  return x;
}

// -- connections

void row_lender::admit(connected_peer peer) {
  const mutex_lock lock{mutex_};
  if (now_.is_ending)
    return;
  const auto number = ++last_link_;
  auto& made = links_[number] = std::make_unique<link>(*this, number, peer.address);
  try {
    made->begin(std::move(peer));
    made->wire->grant(window_of_rows);
    now_.tell(changed_); // from now on there are signs of life
  } catch (...) {        // no thread, no memory: the helper tries again
    links_.erase(number);
  }
}

void row_lender::hear_note(link& from, std::string_view words) {
  const auto x = decode_lending_note(words);
  if (!x)
    break_link("a note that is none", "notes of leat " + own_version());
  if (x->what == lending_note::kind::refused && !std::exchange(from.has_declined, true))
    config_.log("the helper at " + from.address + " makes no rows of this job: " + x->text);
  const mutex_lock lock{mutex_};
  const auto refuse = [&](const std::string& why) {
    from.refused_at = steady_ns();
    from.why_ended = why;
    from.tell({.what = lending_note::kind::refused, .text = why});
  };
  switch (x->what) {
  case lending_note::kind::lend_me:
    if (std::exchange(from.has_asked, true))
      break_link("a helper that asks for the job again", "one that asks once");
    if (x->version != own_version())
      return refuse("it has leat " + x->version.substr(0, most_version) + ", and this rank leat "
                    + own_version());
    from.window = x->window;
    from.cores = x->cores;
    from.out.send(*from.wire, std::vector{bulk_frame{.kind = frame_kind::offer,
                                                     .number = number_of_job,
                                                     .payload = {{config_.job}}}});
    return;
  case lending_note::kind::ready:
    if (!from.has_asked || from.refused_at > 0)
      break_link("a helper that is ready without the job", "one that asks for it");
    if (!x->has_data && !writer_.has_records())
      return refuse("it does not have the data (--data), and records of this job cannot be sent");
    from.has_data = x->has_data;
    if (!std::exchange(from.is_ready, true))
      state_.join(from.number, static_cast<std::int64_t>(from.window),
                  static_cast<std::size_t>(from.cores), steady_ns(),
                  x->has_data ? lent_form::items : lent_form::records);
    now_.tell(changed_);
    return;
  case lending_note::kind::refused:
  case lending_note::kind::alive:
  case lending_note::kind::cancel:
  case lending_note::kind::over:
    return;
  }
}

void row_lender::receive_rows(link& from, const bulk_head& head, std::string_view bytes) {
  const auto rows = decode_answer(bytes);
  if (!rows || (!head.words.empty() && rows->size() != 1))
    break_link("rows that are none", "rows of leat " + own_version());
  std::vector<std::pair<bool, std::size_t>> received; // whether of a batch, and bytes
  try {
    for (const auto& x : *rows)
      if (const auto row = receive_row(from, head.number, x))
        received.emplace_back(row->is_batch, x.result.size());
  } catch (const error&) { // of this link
    throw;
  } catch (...) { // a row, or that it was the last one, may be known to nobody
    calls_.failed(error_in_flight(errc::io, {.stage = "lender"}));
    throw;
  }
  // With what came before: the frame was read by this thread, too.
  const auto work = processor_ns() - std::exchange(from.work, processor_ns());
  const mutex_lock lock{mutex_};
  for (const auto& [is_batch, size] : received)
    state_.costs().received(is_batch, share_of(work, size, bytes.size()));
  from.piece_at = 0;
  stats_.bytes_received += bytes.size();
  state_.heard(from.number, steady_ns());
  from.wire->grant(head.cost());
  now_.tell(changed_); // there may be room for another offer
}

/// The row, if it was received.
std::optional<row_place> row_lender::receive_row(link& from, std::uint64_t offer,
                                                 const answered_row& x) {
  std::optional<row_place> row;
  {
    const mutex_lock lock{mutex_};
    if (now_.is_ending)
      return std::nullopt;
    if (!x.is_made) {
      state_.declined(from.number, offer, x.index, steady_ns());
      return std::nullopt;
    }
    const lender_state::row_cost cost{static_cast<std::int64_t>(x.took),
                                      static_cast<std::int64_t>(x.result.size()) + 256};
    row = state_.answered(from.number, offer, x.index, cost, steady_ns());
  }
  if (!row)
    return std::nullopt;
  // From here on the row is this thread's, so its slot stays open for this batch.
  auto& slot = *row->slot;
  auto& result = slot.result(row->row);
  bool is_row = false;
  try {
    row_places places;
    const auto is_probe = !row->is_batch;
    const auto target = is_probe ? row_target{} : places.again(slot.memory(), row->row);
    is_row = decode_result(x.result, is_probe ? nullptr : &target, result)
             && may_be_result(result, slot.request(row->row), *config_.plan);
  } catch (...) { // no memory: whoever makes it here will say so
  }
  if (!is_row) {
    const mutex_lock lock{mutex_};
    result.clear();
    state_.put_back(*row);
    now_.tell(changed_);
    break_link("a row that is none of its batch", "rows of leat " + own_version());
  }
  const auto is_batch = row->is_batch;
  if (slot.finish(row->row))
    calls_.completed(is_batch);
  return row;
}

void row_lender::flush(link& of) {
  const mutex_lock lock{mutex_};
  of.out.flush(*of.wire);
  if (!of.out.is_empty())
    return;
  state_.pause(of.number, false);
  now_.tell(changed_);
}

void row_lender::note_end(link& of, const std::string& why) noexcept {
  const mutex_lock lock{mutex_};
  of.has_ended = true;
  try {
    if (of.why_ended.empty()) // else it was refused
      of.why_ended = why;
  } catch (...) { // no memory for the text
  }
  now_.has_news = true;
  changed_.notify_all();
}

// -- the lender's thread

std::vector<std::unique_ptr<row_lender::link>> row_lender::take_ended() {
  std::vector<std::unique_ptr<link>> ended;
  for (auto x = links_.begin(); x != links_.end();) {
    const auto next = std::next(x);
    if (x->second->has_ended) {
      state_.lost(x->first);
      ended.push_back(std::move(x->second));
      links_.erase(x);
    }
    x = next;
  }
  return ended;
}

/// When it is time to.
void row_lender::say_alive(std::int64_t now) {
  if (now < next_sign_)
    return;
  next_sign_ = now + between_signs_of_life;
  const auto most = config_.settings.dead_after;
  for (const auto& [number, x] : links_)
    if (x->refused_at > 0 && now - x->refused_at >= between_signs_of_life)
      x->wire->cut();
    else if (!x->has_ended && x->out.is_stuck(now, most))
      x->give_up("it has taken nothing of what waits for it for a while");
    else if (!x->has_ended && x->piece_at > 0 && now - x->piece_at >= most)
      x->give_up("the rest of a row has not come for a while");
    else if (!x->has_ended && x->out.is_empty())
      x->tell({.what = lending_note::kind::alive});
}

/// What rows cost here, when it is time to.
void row_lender::measure(std::int64_t now) {
  if (calls_.made_here && !links_.empty() && state_.costs().is_due(now))
    state_.costs().made(calls_.made_here());
}

void row_lender::run() {
  refusal_log refusals{config_.log};
  mutex_lock lock{mutex_};
  while (!now_.is_ending) {
    now_.has_news = false;
    const auto now = steady_ns();
    say_alive(now);
    const auto due = state_.tick(now);
    for (const auto link : due.dead)
      if (const auto found = links_.find(link); found != links_.end())
        found->second->wire->cut();
    for (const auto& [link, offers] : due.not_wanted)
      if (const auto found = links_.find(link); found != links_.end() && !found->second->has_ended)
        found->second->tell({.what = lending_note::kind::cancel, .offers = offers});
    auto ended = take_ended();
    auto here = state_.take_for_here();
    measure(now);
    auto offer = state_.next_offer(now);
    const auto news = state_.costs().take_news();
    if (!news.empty() || !ended.empty() || !here.empty() || offer) {
      lock.unlock();
      if (!news.empty())
        config_.log("rows are not lent to helpers: " + news);
      for (const auto& x : ended)
        if (x->is_ready)
          config_.log("the helper at " + x->address + " is gone"
                      + (x->why_ended.empty() ? "" : ": " + x->why_ended));
        else if (!x->why_ended.empty() && !x->has_declined)
          refusals.add(x->address, x->why_ended, std::chrono::steady_clock::now());
      ended.clear(); // waits for their threads
      deal_here(std::move(here), taken_, calls_.deal);
      if (offer)
        send(*offer);
      lock.lock();
      continue;
    }
    const auto until = links_.empty() ? now + 3600 * between_signs_of_life
                                      : std::min(next_sign_, state_.next_tick(now));
    if (!now_.has_news && !now_.is_ending)
      changed_.wait_until(mutex_, std::chrono::steady_clock::time_point{
                                      std::chrono::nanoseconds{std::max(until, now + 1'000'000)}});
  }
}

void row_lender::send(const lender_state::offer& x) {
  bool with_records = false;
  {
    const mutex_lock lock{mutex_};
    const auto found = links_.find(x.link);
    if (found == links_.end())
      return;
    with_records = !found->second->has_data;
  }
  const auto begin = steady_ns();
  auto made = writer_.write(x.rows, with_records, config_.settings.most_offer_bytes, [&] {
    const auto now = steady_ns();
    const mutex_lock lock{mutex_};
    say_alive(now); // others do not wait for what is read for this one
    return !now_.is_ending && now - begin < config_.settings.offer_time;
  });
  {
    const mutex_lock lock{mutex_};
    const auto found = links_.find(x.link);
    if (now_.is_ending || found == links_.end() || found->second->has_ended)
      return; // its rows are dealt again with all others that it has
    state_.sent(x, made.how, steady_ns());
    if (!made.bytes.empty()) {
      stats_.bytes_sent += made.bytes.size();
      auto& to = *found->second;
      to.out.send(*to.wire,
                  frames_of(frame_kind::offer, x.number, std::move(made.bytes), made.last));
      if (!to.out.is_empty())
        state_.pause(x.link, true);
    }
  }
  deal_here(std::move(made.for_here), taken_, calls_.deal);
}

} // namespace leat
