#include "runtime/lending/row_lender.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/rows/row_codec.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace leat {

namespace {

/// Of what helpers have made: enough that none of them waits for a grant.
constexpr std::int64_t window_of_rows = std::int64_t{8} << 20;
constexpr std::int64_t between_signs_of_life = 1'000'000'000;

} // namespace

/// One helper's connection. All but the calls of it belong to the lender's mutex.
class row_lender::link final : public bulk_owner {
public:
  link(row_lender& of, std::uint64_t its_number, std::string its_address)
      : number(its_number), address(std::move(its_address)), of_(of) {}
  /// Waits for the thread that calls back.
  ~link() override { connection_.reset(); }

  /// Takes the peer over. Its thread calls back, and waits for the mutex.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_from(link_role::worker), *this);
    wire = &*connection_;
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    payload_ = std::make_shared<std::vector<char>>(x.payload);
    return bulk_room{.parts = {std::span{*payload_}}, .owner = payload_};
  }
  void receive(const bulk_head& x, bulk_room) override {
    const auto payload = std::exchange(payload_, nullptr);
    if (x.kind == frame_kind::row)
      of_.receive_rows(*this, x,
                       payload ? std::string_view{payload->data(), payload->size()}
                               : std::string_view{});
    else
      of_.hear(*this, x);
  }
  void may_send() override { of_.flush(*this); }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  const std::uint64_t number;
  const std::string address;
  waiting_frames out = {};
  std::uint64_t window = 0;
  std::uint64_t cores = 0;
  bool has_data = false;
  bool is_ready = false;
  bool has_ended = false;
  std::string why_ended = {};
  /// There until this is gone.
  bulk_connection* wire = nullptr;

private:
  row_lender& of_;
  std::optional<bulk_connection> connection_;
  /// Of the frame that is coming; of the connection's thread.
  std::shared_ptr<std::vector<char>> payload_;
};

row_lender::row_lender(row_lender_config config)
    : config_(std::move(config)), state_(config_.settings) {
  auto guard = config_.guard;
  guard.rules.roles = {link_role::worker};
  guard.log = config_.log;
  guard_ = std::make_unique<port_guard>(std::move(guard));
  if (config_.data)
    records_.emplace(*config_.data, *config_.plan);
}

row_lender::~row_lender() {
  end();
}

void row_lender::begin(row_lender_calls calls) {
  calls_ = std::move(calls);
  thread_ = begin_thread("lender", [this] { run(); });
  guard_->begin([this](connected_peer x) { admit(std::move(x)); });
}

void row_lender::end() noexcept {
  guard_ = nullptr;
  {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable())
    thread_.join();
  calls_ = {}; // who is called may own this
}

void row_lender::opened(const std::shared_ptr<batch_slot>& slot) {
  const mutex_lock lock{mutex_};
  if (is_ending_)
    return;
  state_.opened(slot);
  has_news_ = true;
  changed_.notify_one();
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
  if (is_ending_)
    return;
  const auto number = ++last_link_;
  auto& made = links_[number] = std::make_unique<link>(*this, number, peer.address);
  try {
    made->begin(std::move(peer));
    made->wire->grant(window_of_rows);
  } catch (...) { // no thread, no memory: the helper tries again
    links_.erase(number);
  }
}

void row_lender::hear(link& from, const bulk_head& head) {
  hear_note(from, head.words);
  const mutex_lock lock{mutex_};
  state_.heard(from.number, steady_ns());
  from.wire->grant(head.cost());
}

void row_lender::hear_note(link& from, std::string_view words) {
  const auto x = decode_lending_note(words);
  if (!x)
    break_link("a note that is none", "notes of leat " + own_version());
  const mutex_lock lock{mutex_};
  switch (x->what) {
  case lending_note::kind::lend_me:
    if (x->version != own_version())
      break_link("leat " + x->version, "leat " + own_version() + ", as this rank has");
    from.window = x->window;
    from.cores = x->cores;
    from.out.send(*from.wire, frame_with(frame_kind::offer, number_of_job, config_.job));
    return;
  case lending_note::kind::ready:
    if (!x->has_data && !records_)
      break_link("a helper without the data", "--data: records of this job cannot be sent");
    from.has_data = x->has_data;
    if (!std::exchange(from.is_ready, true))
      state_.join(from.number, static_cast<std::int64_t>(from.window),
                  static_cast<std::size_t>(from.cores), steady_ns());
    has_news_ = true;
    changed_.notify_one();
    return;
  case lending_note::kind::refused:
    if (config_.log)
      config_.log("the helper at " + from.address + " makes no rows of this job: " + x->text);
    return;
  case lending_note::kind::alive:
  case lending_note::kind::cancel:
  case lending_note::kind::over:
    return;
  }
}

void row_lender::receive_rows(link& from, const bulk_head& head, std::string_view bytes) {
  const auto rows = decode_answer(bytes);
  if (!rows)
    break_link("rows that are none", "rows of leat " + own_version());
  for (const auto& x : *rows)
    receive_row(from, head.number, x);
  const mutex_lock lock{mutex_};
  stats_.bytes_received += bytes.size();
  state_.heard(from.number, steady_ns());
  from.wire->grant(head.cost());
  has_news_ = true; // there may be room for another offer
  changed_.notify_one();
}

void row_lender::receive_row(link& from, std::uint64_t offer, const answered_row& x) {
  std::optional<row_place> row;
  {
    const mutex_lock lock{mutex_};
    if (is_ending_)
      return;
    if (!x.is_made)
      return state_.declined(from.number, offer, x.index);
    const lender_state::row_cost cost{static_cast<std::int64_t>(x.took),
                                      static_cast<std::int64_t>(x.result.size()) + 256};
    row = state_.answered(from.number, offer, x.index, cost, steady_ns());
  }
  if (!row)
    return;
  // From here on the row is this thread's, so its slot stays open for this batch.
  auto& slot = *row->slot;
  auto& result = slot.result(row->row);
  bool is_row = false;
  try {
    row_places places;
    const auto is_probe = !row->is_batch;
    const auto target = is_probe ? row_target{} : places.again(slot.memory(), row->row);
    is_row = decode_result(x.result, is_probe ? nullptr : &target, result)
             && result.what != row_result::outcome::failed;
  } catch (...) { // no memory: whoever makes it here will say so
  }
  if (!is_row) {
    const mutex_lock lock{mutex_};
    result.clear();
    state_.put_back(*row);
    has_news_ = true;
    changed_.notify_one();
    break_link("a row that is none of its batch", "rows of leat " + own_version());
  }
  const auto is_batch = row->is_batch;
  if (slot.finish(row->row))
    calls_.completed(is_batch);
}

void row_lender::flush(link& of) {
  const mutex_lock lock{mutex_};
  of.out.flush(*of.wire);
  if (!of.out.is_empty())
    return;
  state_.pause(of.number, false);
  has_news_ = true;
  changed_.notify_one();
}

void row_lender::note_end(link& of, const std::string& why) noexcept {
  const mutex_lock lock{mutex_};
  of.has_ended = true;
  try {
    of.why_ended = why;
  } catch (...) { // no memory for the text
  }
  has_news_ = true;
  changed_.notify_one();
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

void row_lender::say_alive() {
  for (const auto& [number, x] : links_)
    if (!x->has_ended && x->out.is_empty())
      x->out.send(*x->wire, frame_of({.what = lending_note::kind::alive}));
}

void row_lender::run() {
  auto next_sign = steady_ns();
  mutex_lock lock{mutex_};
  while (!is_ending_) {
    has_news_ = false;
    const auto now = steady_ns();
    if (now >= next_sign) {
      say_alive();
      next_sign = now + between_signs_of_life;
    }
    for (const auto link : state_.tick(now))
      if (const auto found = links_.find(link); found != links_.end())
        found->second->wire->cut();
    auto ended = take_ended();
    auto here = state_.take_for_here();
    auto offer = state_.next_offer(now);
    if (!ended.empty() || !here.empty() || offer) {
      lock.unlock();
      ended.clear(); // waits for their threads
      deal_here(std::move(here));
      if (offer)
        send(std::move(*offer));
      lock.lock();
      continue;
    }
    const auto until = links_.empty() ? now + 3600 * between_signs_of_life
                                      : std::min(next_sign, state_.next_tick(now));
    if (!has_news_ && !is_ending_)
      changed_.wait_until(mutex_, std::chrono::steady_clock::time_point{
                                      std::chrono::nanoseconds{std::max(until, now + 1'000'000)}});
  }
  const auto links = std::exchange(links_, {});
  for (const auto& [number, x] : links)
    x->out.send(*x->wire, frame_of({.what = lending_note::kind::over}));
  lock.unlock();
}

/// All workers get the list, and each takes what is still there: so whoever is free does it.
void row_lender::deal_here(std::vector<row_place> rows) {
  while (!rows.empty()) {
    const auto slot = rows.front().slot;
    chunk work{.slot = slot,
               .ticket = rows.front().ticket,
               .limit = rows.front().limit,
               .is_batch = rows.front().is_batch,
               .are_lent = true};
    for (const auto& x : rows)
      if (x.slot == slot)
        work.rows.push_back(x.row);
    std::erase_if(rows, [&](const row_place& x) { return x.slot == slot; });
    calls_.deal(std::move(work));
  }
}

/// Nothing for a row that cannot be sent, or that somebody has taken meanwhile.
std::optional<row_lender::row_bytes> row_lender::bytes_of(const row_place& x, bool with_records) {
  if (!x.slot->take_lent(x.ticket, x.row)) // while it is read, its slot stays open
    return std::nullopt;
  std::optional<row_bytes> bytes;
  try {
    const auto& request = x.slot->request(x.row);
    if (can_travel(request)) {
      bytes.emplace();
      bytes->request = encode(request);
      if (with_records) {
        auto records = records_->records_of(request);
        if (!records || records->size() + bytes->request.size() > most_lent_bytes)
          bytes.reset();
        else
          bytes->records = std::move(*records);
      }
    }
  } catch (...) { // no memory: it is made here
    bytes.reset();
  }
  x.slot->put_back(x.row);
  return bytes;
}

void row_lender::send(lender_state::offer x) {
  bool with_records = false;
  {
    const mutex_lock lock{mutex_};
    const auto found = links_.find(x.link);
    if (found == links_.end())
      return;
    with_records = !found->second->has_data;
  }
  std::vector<row_bytes> all;
  std::vector<std::size_t> left_out;
  std::size_t size = 0;
  for (std::size_t i = 0; i < x.rows.size(); ++i) {
    auto bytes = size < most_lent_bytes ? bytes_of(x.rows[i], with_records) : std::nullopt;
    if (!bytes)
      left_out.push_back(i);
    all.push_back(bytes ? std::move(*bytes) : row_bytes{});
    size += all.back().request.size() + all.back().records.size();
    if (size > most_lent_bytes && i > 0 && bytes) { // it goes with another offer
      size -= all.back().request.size() + all.back().records.size();
      all.back() = {};
      left_out.push_back(i);
    }
  }
  std::vector<offered_row> rows;
  for (const auto& bytes : all)
    rows.push_back({bytes.request, bytes.records});
  auto payload = encode(rows);
  const mutex_lock lock{mutex_};
  const auto found = links_.find(x.link);
  if (found == links_.end() || found->second->has_ended)
    return;
  for (const auto i : left_out)
    state_.declined(x.link, x.number, i);
  if (left_out.size() == x.rows.size())
    return;
  stats_.bytes_sent += payload.size();
  auto& to = *found->second;
  to.out.send(*to.wire, frame_with(frame_kind::offer, x.number, std::move(payload)));
  if (!to.out.is_empty())
    state_.pause(x.link, true);
}

} // namespace leat
