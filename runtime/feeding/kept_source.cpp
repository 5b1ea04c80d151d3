#include "runtime/feeding/kept_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/feeding/feed_node.hpp"

#include <chrono>
#include <utility>

namespace leat {

namespace {

/// Before another look at a journal that is in use, or at who is rank 0.
constexpr std::chrono::seconds between_looks{1};

} // namespace

/// Nobody asks the node once it goes.
class kept_source::noted_node : not_copied {
public:
  noted_node(kept_source& in, const feed_node& x) : in_(in) { in_.note_node(&x); }
  ~noted_node() { in_.note_node(nullptr); }

private:
  kept_source& in_;
};

kept_source::kept_source(settings chosen) : settings_(std::move(chosen)) {}

kept_source::~kept_source() {
  if (!thread_.joinable())
    return;
  bool has_ended = false;
  {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    stop_.request_stop();
    changed_.notify_all();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    while (!has_ended_ && changed_.wait_until(mutex_, patience)) {
    }
    has_ended = has_ended_;
  }
  if (!has_ended)
    settings_.feed.log("waiting for its function to return");
  thread_.join();
}

void kept_source::serve() {
  const mutex_lock lock{mutex_};
  is_wanted_ = true;
  is_wanted_again_ = is_serving_ && (!node_ || node_->is_ending());
  changed_.notify_all();
  if (!thread_.joinable())
    thread_ = begin_thread("feed", [this] { run(); });
}

void kept_source::let_go() noexcept {
  const mutex_lock lock{mutex_};
  is_wanted_ = is_wanted_again_ = false;
  stop_.request_stop();
}

void kept_source::run() {
  for (;;) {
    std::stop_token stop;
    {
      const mutex_lock lock{mutex_};
      while (!is_wanted_ && !is_ending_)
        changed_.wait(mutex_);
      if (is_ending_)
        break;
      stop_ = std::stop_source{};
      stop = stop_.get_token();
      is_serving_ = true;
    }
    bool is_over = false;
    if (settings_.is_first())
      is_over = serve_until_stopped(stop);
    else
      wait_a_moment();
    const mutex_lock lock{mutex_};
    is_serving_ = false;
    const bool is_wanted_again = std::exchange(is_wanted_again_, false);
    if (is_over) // if ranks go back, it is told to serve again, perhaps before the node was gone
      is_wanted_ = is_wanted_again;
  }
  const mutex_lock lock{mutex_};
  has_ended_ = true;
  changed_.notify_all();
}

/// False if it is to be tried again as long as it is wanted.
bool kept_source::serve_until_stopped(const std::stop_token& stop) {
  try {
    auto feed = settings_.feed;
    feed.stop = stop;
    feed_node node{std::move(feed), [this] { return places(); }};
    told_.clear();
    const noted_node noted{*this, node};
    node.run();
    return !stop.stop_requested(); // otherwise all ranks have had all records
  } catch (const journal_in_use& problem) {
    if (std::exchange(told_, problem.what()) != problem.what())
      settings_.feed.log(std::string{"waits for the process that was rank 0 before: "}
                         + problem.what());
    wait_a_moment();
    return false;
  } catch (...) {
    fail(error_in_flight(errc::io, {.stage = "feed"}));
  }
  return true;
}

void kept_source::note_node(const feed_node* x) noexcept {
  const mutex_lock lock{mutex_};
  node_ = x;
  if (x)
    is_wanted_again_ = false;
}

void kept_source::fail(const error& problem) noexcept try {
  settings_.failed(problem.what());
} catch (...) { // no memory for the text: ranks wait, and say that nobody serves it
}

/// Where the ranks are. Called while it serves: lets go of the journal once another process may
/// need it.
std::vector<std::string> kept_source::places() {
  if (!settings_.feed.journal.empty() && !settings_.is_first()) {
    const mutex_lock lock{mutex_};
    stop_.request_stop();
  }
  return settings_.find();
}

void kept_source::wait_a_moment() {
  const mutex_lock lock{mutex_};
  const auto end = std::chrono::steady_clock::now() + between_looks;
  while (is_wanted_ && !is_ending_ && changed_.wait_until(mutex_, end)) {
  }
}

} // namespace leat
