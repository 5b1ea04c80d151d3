#include "runtime/lending/worker_node.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/piece_intake.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/link_error.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::int64_t second = 1'000'000'000;
/// A rank that was not heard of for so long, or has taken nothing, is given up.
constexpr std::int64_t most_silence = 10 * second;
/// An answer is sent once it has so many bytes.
constexpr std::size_t enough_bytes = std::size_t{1} << 20;
/// Of a row in an answer, besides its result.
constexpr std::size_t most_bytes_around = 32;
constexpr std::uint64_t largest_window = std::uint64_t{64} << 20;
constexpr std::uint64_t smallest_window = std::uint64_t{64} << 10;

std::uint64_t most_large_offer(const worker_settings& x) noexcept {
  return x.memory == 0 ? most_whole_bytes : x.memory / 2;
}

} // namespace

/// A rank, as long as its connection lasts. Where it is not said otherwise, of the node's mutex.
class worker_node::session final : public bulk_owner {
public:
  session(worker_node& of, std::uint64_t its_number, std::string its_address,
          std::uint64_t its_window)
      : number(its_number), address(std::move(its_address)), window(its_window), of_(of),
        pieces_(of.large_offers_, most_large_offer(of.options_)) {}
  /// Waits for the thread that calls back.
  ~session() override { connection_.reset(); }

  /// Takes the peer over. Its thread calls back, and waits for the mutex.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_from(link_role::rank), *this,
                        static_cast<std::int64_t>(window));
    wire = &*connection_;
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    payload_ = std::make_shared<std::vector<char>>(x.payload);
    return bulk_room{.parts = {std::span{*payload_}}, .owner = payload_};
  }
  void receive(const bulk_head& x, bulk_room) override {
    auto payload = std::exchange(payload_, nullptr);
    if (x.kind != frame_kind::offer || !payload)
      return of_.receive_note(*this, x);
    if (!x.words.empty() || pieces_.is_open())
      return receive_piece(x, *payload);
    of_.receive_offer(*this, x, std::move(payload));
  }
  void may_send() override {
    const mutex_lock lock{of_.mutex_};
    out.flush(*wire);
    if (out.is_empty())
      of_.has_room_.notify_all();
  }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  /// Something that nobody waits with until it is taken.
  void tell(bulk_frame x) {
    if (has_ended || is_given_up)
      return;
    out.send(*wire, std::move(x));
    if (out.is_overfull())
      give_up("it does not take what it has asked for");
  }
  void give_up(const char* why) {
    if (!std::exchange(is_given_up, true) && reason.empty())
      reason = why;
    wire->cut();
  }
  /// If it is not as alive as it says.
  void judge(std::int64_t now) {
    if (now - heard > most_silence)
      give_up("nothing was heard of it for 10 s");
    else if (out.is_stuck(now, most_silence))
      give_up("it has taken nothing of what waits for it for 10 s");
    else if (piece_at > 0 && now - piece_at > most_silence)
      give_up("the rest of an offer has not come for 10 s");
  }

  const std::uint64_t number;
  const std::string address;
  /// For its offers, in bytes.
  const std::uint64_t window;
  waiting_frames out = {};
  std::int64_t heard = steady_ns();
  /// When a piece of an offer came that was not the last one.
  std::int64_t piece_at = 0;
  /// The job that has come, and is not looked at yet.
  std::shared_ptr<std::vector<char>> job_bytes = {};
  /// The one that rows are made for.
  std::shared_ptr<const borrowed_job> job = {};
  bool has_ended = false;
  bool is_given_up = false;
  std::string why_ended = {};
  /// The job is one that this process cannot make rows of.
  bool is_refused = false;
  /// Why it ends, if that is known better than by the connection.
  std::string reason = {};
  /// There until this is gone.
  bulk_connection* wire = nullptr;

private:
  /// A row whose offer travels in pieces is the only one of it, and is made by others if there is
  /// no memory for it. Its pieces are granted again as they come, since it may be larger than the
  /// window.
  void receive_piece(const bulk_head& x, const std::vector<char>& bytes) {
    auto found = pieces_.add(x.number, x.words, {bytes.data(), bytes.size()});
    if (found.bytes)
      return of_.receive_offer(*this, x, std::move(found.bytes));
    const mutex_lock lock{of_.mutex_};
    heard = steady_ns();
    piece_at = found.is_whole ? 0 : heard;
    wire->grant(x.cost());
    if (found.is_whole)
      of_.tell_not_made(*this, x.number, found.index, found.index + 1);
  }

  worker_node& of_;
  std::optional<bulk_connection> connection_;
  // Of the connection's thread: of the frame that is coming, and of the offer that is.
  std::shared_ptr<std::vector<char>> payload_;
  piece_intake pieces_;
};

worker_node::worker_node(worker_settings settings, find_ranks find)
    : options_(checked(std::move(settings))), find_(std::move(find)),
      certificates_(certificates_in(options_.certificates, {link_role::worker})),
      large_offers_(most_large_offer(options_)) {}

worker_node::~worker_node() = default;

void worker_node::log(const std::string& text) const {
  options_.log(text);
}

/// False once it is asked to end.
bool worker_node::wait_until(std::int64_t time) {
  const mutex_lock lock{mutex_};
  while (!is_ending_ && steady_ns() < time)
    changed_.wait_until(mutex_,
                        std::chrono::steady_clock::time_point{std::chrono::nanoseconds{time}});
  return !is_ending_;
}

/// What comes at each attempt is logged once.
void worker_node::end() noexcept {
  const mutex_lock lock{mutex_};
  is_ending_ = true;
  changed_.notify_all();
  has_work_.notify_all();
  has_room_.notify_all();
}

void worker_node::run() {
  give_way(options_);
  const std::stop_callback ends{options_.stop, [this] {
                                  stop_.set();
                                  end();
                                }};
  rank_visits{{.join = options_.join, .token = options_.token, .log = options_.log},
              find_,
              certificates_,
              {.begin =
                   [this] {
                     for (std::size_t i = 0; i < options_.cores; ++i)
                       makers_.add("worker", [this] { make_rows(); });
                   },
               .help = [this](connected_peer peer,
                              rank_line& of) { return keep(begin_session(std::move(peer)), of); },
               .wait_until = [this](std::int64_t time) { return wait_until(time); },
               .end = [this] { end(); },
               .stop = stop_}}
      .run();
  makers_.join();
}

/// Half of what is left of half of the memory, so that there is something for each further rank.
std::uint64_t worker_node::next_window() const {
  if (options_.memory == 0)
    return largest_window;
  auto left = options_.memory / 2;
  for (const auto& [number, x] : sessions_)
    left -= std::min(left, x->window);
  return std::clamp(left / 2, smallest_window, largest_window);
}

worker_node::session_ptr worker_node::begin_session(connected_peer peer) {
  session_ptr made;
  {
    const mutex_lock lock{mutex_};
    made = std::make_shared<session>(*this, ++last_session_, peer.address, next_window());
    sessions_[made->number] = made;
  }
  try {
    const mutex_lock lock{mutex_};
    made->begin(std::move(peer));
    made->wire->grant(static_cast<std::int64_t>(made->window));
    made->out.send(*made->wire, frame_of({.what = lending_note::kind::lend_me,
                                          .version = own_version(),
                                          .cores = options_.cores,
                                          .window = made->window}));
  } catch (...) {
    forget(*made);
    throw;
  }
  return made;
}

/// As long as the rank is there. False if no rows of its were to be made here.
bool worker_node::keep(const session_ptr& with, rank_line& of) {
  try {
    serve(with, of);
  } catch (...) {
    forget(*with);
    throw;
  }
  forget(*with);
  std::string why;
  bool is_known = false;
  bool has_helped = false;
  {
    const mutex_lock lock{mutex_};
    why = with->reason.empty() ? with->why_ended : with->reason;
    is_known = with->is_refused || is_ending_; // the former was logged
    has_helped = with->job != nullptr;
  }
  const auto because = why.empty() ? why : ": " + why;
  if (has_helped) {
    of.told.clear();
    log("does not help " + with->address + " any more" + because);
  } else if (!is_known) {
    of.log_once("does not help " + with->address + because);
  }
  return has_helped;
}

void worker_node::serve(const session_ptr& with, rank_line& of) {
  mutex_lock lock{mutex_};
  auto next_sign = steady_ns() + second;
  while (!with->has_ended && !is_ending_) {
    if (with->job_bytes) {
      lock.unlock();
      prepare(with, of);
      lock.lock();
      continue;
    }
    const auto now = steady_ns();
    if (now >= next_sign) {
      next_sign = now + second;
      if (with->out.is_empty())
        with->out.send(*with->wire, frame_of({.what = lending_note::kind::alive}));
    }
    with->judge(now);
    changed_.wait_until(mutex_,
                        std::chrono::steady_clock::time_point{std::chrono::nanoseconds{next_sign}});
  }
}

/// Nothing of the rank is worked on from here on.
void worker_node::forget(session& x) noexcept {
  const mutex_lock lock{mutex_};
  if (x.wire)
    x.wire->cut();
  sessions_.erase(x.number);
  queue_.drop(x.number);
  has_room_.notify_all();
}

/// Makes the plan of a job that has come, which may read much.
void worker_node::prepare(const session_ptr& with, rank_line& of) {
  std::shared_ptr<std::vector<char>> bytes;
  {
    const mutex_lock lock{mutex_};
    bytes = std::exchange(with->job_bytes, nullptr);
  }
  lending_note answer{.what = lending_note::kind::refused};
  std::shared_ptr<const borrowed_job> job;
  try {
    auto lent = decode_lent_job({bytes->data(), bytes->size()});
    if (!lent)
      refuse_argument("worker", "a job that is none", "one of leat " + own_version());
    job = std::make_shared<const borrowed_job>(std::move(*lent), options_.data);
    answer = {.what = lending_note::kind::ready, .has_data = job->has_data()};
  } catch (...) {
    const auto problem = error_in_flight(errc::no_resources, {.stage = "worker"});
    constexpr std::size_t most_text = 8 << 10;
    answer.text = std::string{problem.what()}.substr(0, most_text);
  }
  if (!job)
    of.log_once("cannot help " + with->address + ": " + answer.text);
  else
    log("helps " + with->address
        + (job->has_data() ? ", and reads its data here" : ", which sends its records"));
  const mutex_lock lock{mutex_};
  with->is_refused = !job;
  with->job = std::move(job);
  with->heard = steady_ns();
  with->tell(frame_of(answer));
}

// -- what ranks say

void worker_node::receive_offer(session& from, const bulk_head& head,
                                std::shared_ptr<std::vector<char>> bytes) {
  const mutex_lock lock{mutex_};
  from.heard = steady_ns();
  from.piece_at = 0;
  if (!sessions_.contains(from.number))
    return; // it is being forgotten
  if (head.number == number_of_job) {
    from.wire->grant(head.cost());
    from.job_bytes = std::move(bytes);
    return changed_.notify_all();
  }
  queue_.add({from.number, head.number, std::move(bytes), head.cost()});
  has_work_.notify_one();
}

void worker_node::receive_note(session& from, const bulk_head& head) {
  const auto x = decode_lending_note(head.words);
  if (!x)
    break_link("a note that is none", "notes of leat " + own_version());
  const mutex_lock lock{mutex_};
  from.heard = steady_ns();
  from.wire->grant(head.cost());
  if (x->what == lending_note::kind::cancel) {
    for (const auto& task : queue_.cancel(from.number, x->offers)) {
      from.wire->grant(task.credit);
      if (const auto rows = decode_offer({task.bytes->data(), task.bytes->size()}))
        tell_not_made(from, task.offer, 0, rows->size());
    }
    has_room_.notify_all(); // rows that wait for it may be among these
  }
  if (x->what == lending_note::kind::refused)
    from.reason = x->text;
  if (x->what == lending_note::kind::over)
    from.wire->cut();
}

void worker_node::note_end(session& of, const std::string& why) noexcept {
  const mutex_lock lock{mutex_};
  of.has_ended = true;
  try {
    of.why_ended = why;
  } catch (...) { // no memory for the text
  }
  changed_.notify_all();
  has_room_.notify_all();
}

// -- rows

void worker_node::make_rows() {
  borrowed_rows with;
  mutex_lock lock{mutex_};
  while (!is_ending_) {
    auto task = queue_.take();
    if (!task) {
      has_work_.wait(mutex_);
      continue;
    }
    const auto found = sessions_.find(task->link);
    if (found == sessions_.end())
      continue;
    auto of = found->second;
    lock.unlock();
    try {
      make(*task, *of, with);
    } catch (...) { // no memory for answers: others make these rows
      of->wire->cut();
    }
    lock.lock();
    queue_.done(*task);
    if (!of->has_ended)
      of->wire->grant(task->credit);
    lock.unlock();
    of = nullptr; // perhaps the last one to have it
    lock.lock();
  }
}

void worker_node::make(const helper_queue::task& task, session& of, borrowed_rows& with) {
  const auto rows = decode_offer({task.bytes->data(), task.bytes->size()});
  if (!rows)
    return;
  std::shared_ptr<const borrowed_job> job;
  {
    const mutex_lock lock{mutex_};
    job = of.job;
  }
  const bool can_make = job && with.prepare(job);
  std::deque<std::string> results; // answers refer to them
  std::vector<answered_row> answers;
  std::size_t size = 0;
  std::size_t answered = 0;
  const auto send_these = [&] {
    if (!answers.empty() && send(task, of, answers))
      answered = answers.back().index + 1;
    answers.clear();
    results.clear();
    size = 0;
  };
  const auto goes_on = [&] {
    const mutex_lock lock{mutex_};
    return is_wanted(task, of);
  };
  for (std::size_t i = 0; i < rows->size() && goes_on(); ++i) {
    const auto begin = steady_ns();
    auto made = can_make ? with.made((*rows)[i]) : std::nullopt;
    const auto took = static_cast<std::uint64_t>(steady_ns() - begin);
    const auto bytes = most_bytes_around + (made ? made->size() : 0);
    if (size + bytes > most_payload_piece) // a row that travels in pieces is alone
      send_these();
    const bool is_made = made.has_value();
    const auto& result = results.emplace_back(is_made ? std::move(*made) : std::string{});
    answers.push_back({.index = i, .is_made = is_made, .took = took, .result = result});
    size += bytes;
    if (size >= enough_bytes)
      send_these();
  }
  send_these();
  if (answered == rows->size())
    return;
  const mutex_lock lock{mutex_};
  tell_not_made(of, task.offer, answered, rows->size());
}

/// The rank that has cancelled an offer learns which of its rows do not come.
void worker_node::tell_not_made(session& to, std::uint64_t offer, std::size_t first,
                                std::size_t end) {
  if (!is_ending_)
    to.tell(frame_with(frame_kind::row, offer, encode_not_made(first, end)));
}

/// Waits until the rank takes what it was sent, and before that for what others had to leave there
/// as their offers were cancelled: so no more than one answer waits for it, besides one in each
/// thread. False if nobody wants rows of the offer any more: then nothing is sent.
bool worker_node::send(const helper_queue::task& task, session& of,
                       const std::vector<answered_row>& rows) {
  auto frames = frames_of(frame_kind::row, task.offer, encode(rows), rows.front().index);
  const mutex_lock lock{mutex_};
  bool is_sent = false;
  while (is_wanted(task, of) && !(is_sent && of.out.is_empty()))
    if (of.out.is_empty()) {
      of.out.send(*of.wire, std::exchange(frames, {}));
      is_sent = true;
    } else {
      has_room_.wait(mutex_);
    }
  return is_sent;
}

bool worker_node::is_wanted(const helper_queue::task& task, const session& of) const {
  return queue_.is_wanted(task) && !of.has_ended && !is_ending_;
}

} // namespace leat
