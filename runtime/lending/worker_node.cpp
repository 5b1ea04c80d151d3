#include "runtime/lending/worker_node.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/job/core_budget.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/rows/row_codec.hpp"
#include "runtime/rows/row_runner.hpp"

#include <leat/notice.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::int64_t second = 1'000'000'000;
/// A rank that was not heard of for so long is given up.
constexpr std::int64_t most_silence = 10 * second;
/// Between two attempts to dial: at first, and at most.
constexpr std::int64_t first_pause = second / 10;
constexpr std::int64_t last_pause = second;
/// An answer is sent once it has so many bytes.
constexpr std::size_t enough_bytes = std::size_t{1} << 20;
constexpr std::uint64_t largest_window = std::uint64_t{64} << 20;

worker_options checked(worker_options x) {
  (void)parse_address(x.join, "worker.join");
  if (x.nice < 0 || x.nice > 19)
    refuse_argument("worker.nice", std::to_string(x.nice), "0 to 19");
  if (x.memory > 0 && x.memory < std::uint64_t{64} << 20)
    refuse_argument("worker.memory", std::to_string(x.memory) + " bytes", "at least 64 MiB");
  for (const auto& folder : x.data)
    if (folder.empty() || folder.front() != '/')
      refuse_argument("worker.data", '"' + folder + '"', "the absolute path of a folder");
  if (x.cores == 0)
    x.cores = usable_cores();
  return x;
}

void give_way(const worker_options& x) {
  if (x.nice > 0)
    (void)::setpriority(PRIO_PROCESS, 0, x.nice); // threads that begin later do the same
  if (x.memory == 0)
    return;
  const rlimit limit{x.memory, x.memory};
  (void)::setrlimit(RLIMIT_DATA, &limit);
}

} // namespace

/// A rank, as long as its connection lasts. Where it is not said otherwise, of the node's mutex.
class worker_node::session final : public bulk_owner {
public:
  session(worker_node& of, std::uint64_t its_number, std::string its_address)
      : number(its_number), address(std::move(its_address)), of_(of) {}
  /// Waits for the thread that calls back.
  ~session() override { connection_.reset(); }

  /// Takes the peer over. Its thread calls back, and waits for the mutex.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_from(link_role::rank), *this);
    wire = &*connection_;
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    payload_ = std::make_shared<std::vector<char>>(x.payload);
    return bulk_room{.parts = {std::span{*payload_}}, .owner = payload_};
  }
  void receive(const bulk_head& x, bulk_room) override {
    auto payload = std::exchange(payload_, nullptr);
    if (x.kind == frame_kind::offer && payload)
      return of_.receive_offer(*this, x.number, std::move(payload));
    of_.receive_note(*this, x);
  }
  void may_send() override {
    const mutex_lock lock{of_.mutex_};
    out.flush(*wire);
  }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  const std::uint64_t number;
  const std::string address;
  waiting_frames out = {};
  std::int64_t heard = steady_ns();
  /// The job that has come, and is not looked at yet.
  std::shared_ptr<std::vector<char>> job_bytes = {};
  /// The one that rows are made for.
  std::shared_ptr<const borrowed_job> job = {};
  bool has_ended = false;
  std::string why_ended = {};
  /// There until this is gone.
  bulk_connection* wire = nullptr;

private:
  worker_node& of_;
  std::optional<bulk_connection> connection_;
  /// Of the frame that is coming; of the connection's thread.
  std::shared_ptr<std::vector<char>> payload_;
};

/// What one thread needs to make rows of one job.
struct worker_node::row_maker {
  std::shared_ptr<const borrowed_job> of = {};
  std::shared_ptr<records_at_hand> records = {};
  std::shared_ptr<const job_plan> plan = {};
  std::optional<row_runner> runner = {};
  std::optional<batch_memory> memory = {};

  void prepare(const std::shared_ptr<const borrowed_job>& job) {
    if (of == job)
      return;
    of = nullptr; // as long as this is not done
    runner.reset();
    memory.reset();
    records = std::make_shared<records_at_hand>();
    plan = job->plan_for(records);
    runner.emplace(plan, std::make_shared<worker_record>());
    memory.emplace(plan->layout, 1);
    of = job;
  }

  /// Nothing if it is not made here.
  std::optional<std::string> made(const offered_row& x) try {
    if (!of->has_data() && !records->read(x.records))
      return std::nullopt;
    const auto request = decode_request(x.request, *plan);
    if (!request)
      return std::nullopt;
    row_result result;
    row_places places;
    memory->begin_rows();
    runner->run(*request, request->edge ? row_target{} : places.at(*memory, 0), result);
    // A job fails by what its rank finds, not by what this machine lacks.
    if (result.what == row_result::outcome::failed || records->lacked())
      return std::nullopt;
    auto bytes =
        request->edge ? encode(result) : encode(result, *plan->layout, [&](std::size_t field) {
          return memory->row_of(field, 0);
        });
    return bytes.size() <= most_lent_bytes ? std::optional{std::move(bytes)} : std::nullopt;
  } catch (...) { // no memory
    return std::nullopt;
  }
};

worker_node::worker_node(worker_options options)
    : options_(checked(std::move(options))),
      certificates_(certificates_in(options_.certs, {link_role::worker})),
      window_(options_.memory == 0 ? largest_window
                                   : std::min(largest_window, options_.memory / 4)) {}

worker_node::~worker_node() = default;

void worker_node::log(const std::string& text) const {
  if (options_.log)
    options_.log(text);
  else
    notice("worker: " + text);
}

/// False once it is asked to end.
bool worker_node::wait_until(std::int64_t time) {
  const mutex_lock lock{mutex_};
  while (!is_ending_ && steady_ns() < time)
    changed_.wait_until(mutex_,
                        std::chrono::steady_clock::time_point{std::chrono::nanoseconds{time}});
  return !is_ending_;
}

void worker_node::run() {
  give_way(options_);
  const std::stop_callback ends{options_.stop, [this] {
                                  stop_.set();
                                  const mutex_lock lock{mutex_};
                                  is_ending_ = true;
                                  changed_.notify_all();
                                  has_work_.notify_all();
                                }};
  try {
    for (std::size_t i = 0; i < options_.cores; ++i)
      makers_.add("worker", [this] { make_rows(); });
    dial_and_help();
  } catch (const error& problem) {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    has_work_.notify_all();
    if (problem.code() != errc::interrupted)
      throw;
  }
  makers_.join();
}

void worker_node::dial_and_help() {
  auto pause = first_pause;
  for (bool goes_on = true; goes_on; goes_on = wait_until(steady_ns() + pause)) {
    const dial_wish wish{.to = parse_address(options_.join, "worker.join"),
                         .own = certificates_ ? certificates_->now() : nullptr,
                         .expected = link_role::rank,
                         .hello = {.role = link_role::worker, .token = secret{options_.token}}};
    try {
      keep(begin_session(dial_peer(wish, &stop_)));
      pause = first_pause;
      told_.clear();
    } catch (const error& problem) {
      if (problem.code() == errc::interrupted)
        return;
      if (std::exchange(told_, problem.what()) != problem.what())
        log(std::string{"waits for "} + options_.join + ": " + problem.what());
      pause = std::min(2 * pause, last_pause);
    }
  }
}

worker_node::session_ptr worker_node::begin_session(connected_peer peer) {
  const mutex_lock lock{mutex_};
  const auto number = ++last_session_;
  auto made = std::make_shared<session>(*this, number, peer.address);
  made->begin(std::move(peer));
  made->wire->grant(static_cast<std::int64_t>(window_));
  sessions_[number] = made;
  made->out.send(*made->wire, frame_of({.what = lending_note::kind::lend_me,
                                        .version = own_version(),
                                        .cores = options_.cores,
                                        .window = window_}));
  return made;
}

/// As long as the rank is there.
void worker_node::keep(const session_ptr& with) {
  mutex_lock lock{mutex_};
  auto next_sign = steady_ns() + second;
  while (!with->has_ended && !is_ending_) {
    if (with->job_bytes) {
      lock.unlock();
      prepare(with);
      lock.lock();
      continue;
    }
    const auto now = steady_ns();
    if (now >= next_sign) {
      next_sign = now + second;
      if (with->out.is_empty())
        with->out.send(*with->wire, frame_of({.what = lending_note::kind::alive}));
    }
    if (now - with->heard > most_silence)
      with->wire->cut();
    changed_.wait_until(mutex_,
                        std::chrono::steady_clock::time_point{std::chrono::nanoseconds{next_sign}});
  }
  sessions_.erase(with->number);
  queue_.drop(with->number);
  const auto why = with->why_ended;
  lock.unlock();
  with->wire->cut();
  log("does not help " + with->address + " any more" + (why.empty() ? "" : ": " + why));
}

/// Makes the plan of a job that has come, which may read much.
void worker_node::prepare(const session_ptr& with) {
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
    log("helps " + with->address
        + (job->has_data() ? ", and reads its data here" : ", which sends its records"));
  } catch (...) {
    const auto problem = error_in_flight(errc::no_resources, {.stage = "worker"});
    constexpr std::size_t most_text = 8 << 10;
    answer.text = std::string{problem.what()}.substr(0, most_text);
    log("cannot help " + with->address + ": " + answer.text);
  }
  const mutex_lock lock{mutex_};
  with->job = std::move(job);
  with->heard = steady_ns();
  if (!with->has_ended)
    with->out.send(*with->wire, frame_of(answer));
}

// -- what ranks say

void worker_node::receive_offer(session& from, std::uint64_t number,
                                std::shared_ptr<std::vector<char>> bytes) {
  const mutex_lock lock{mutex_};
  from.heard = steady_ns();
  if (number == number_of_job) {
    from.wire->grant(cost_of(4 + bytes->size()));
    from.job_bytes = std::move(bytes);
    return changed_.notify_all();
  }
  queue_.add({from.number, number, std::move(bytes)});
  has_work_.notify_one();
}

void worker_node::receive_note(session& from, const bulk_head& head) {
  const auto x = decode_lending_note(head.words);
  if (!x)
    break_link("a note that is none", "notes of leat " + own_version());
  const mutex_lock lock{mutex_};
  from.heard = steady_ns();
  from.wire->grant(head.cost());
  if (x->what == lending_note::kind::cancel)
    for (const auto& task : queue_.cancel(from.number, x->offers))
      from.wire->grant(cost_of(4 + task.bytes->size()));
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
}

// -- rows

void worker_node::make_rows() {
  row_maker with;
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
    make(*task, *of, with);
    of = nullptr; // perhaps the last one to have it
    lock.lock();
  }
}

void worker_node::make(const helper_queue::task& task, session& of, row_maker& with) {
  std::vector<std::string> results;
  std::vector<answered_row> answers;
  std::size_t size = 0;
  const auto is_wanted = [&] {
    const mutex_lock lock{mutex_};
    return queue_.is_wanted(task) && !is_ending_;
  };
  const auto send = [&] {
    auto payload = encode(answers);
    answers.clear();
    results.clear();
    size = 0;
    const mutex_lock lock{mutex_};
    if (queue_.is_wanted(task) && !of.has_ended)
      of.out.send(*of.wire, frame_with(frame_kind::row, task.offer, std::move(payload)));
  };
  const auto rows = decode_offer({task.bytes->data(), task.bytes->size()});
  bool can_make = rows.has_value();
  try {
    std::shared_ptr<const borrowed_job> job;
    {
      const mutex_lock lock{mutex_};
      job = of.job;
    }
    if (job)
      with.prepare(job);
    can_make = can_make && job;
  } catch (...) { // no memory, or no factory of a map
    can_make = false;
  }
  const auto num_rows = rows ? rows->size() : 0;
  results.reserve(num_rows); // answers refer to them
  for (std::size_t i = 0; i < num_rows && is_wanted(); ++i) {
    const auto begin = steady_ns();
    auto made = can_make ? with.made((*rows)[i]) : std::nullopt;
    auto& answer = answers.emplace_back();
    answer.index = i;
    answer.is_made = made.has_value();
    answer.took = static_cast<std::uint64_t>(steady_ns() - begin);
    if (made) {
      size += made->size();
      answer.result = results.emplace_back(std::move(*made));
    }
    if (size >= enough_bytes)
      send();
  }
  if (!answers.empty())
    send();
  const mutex_lock lock{mutex_};
  queue_.done(task);
  if (!of.has_ended)
    of.wire->grant(cost_of(4 + task.bytes->size()));
}

void help_ranks(const worker_options& options) {
  worker_node{options}.run();
}

} // namespace leat
