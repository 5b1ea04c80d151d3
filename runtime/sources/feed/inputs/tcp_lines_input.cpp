#include "runtime/sources/feed/inputs/tcp_lines_input.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/feed/inputs/tcp_line.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

namespace {

/// How long one wait for a line lasts; a server may be silent for as long as it likes.
constexpr std::chrono::hours tcp_line_pause{1};
constexpr std::size_t tcp_bytes_per_take = std::size_t{1} << 20;
constexpr auto tcp_line_form =
    "lines \"PLACE CONTENT\" of at most 15 MiB, and \"end\" after the last one (docs/queues.md)";

/// Says up to where records are covered. What a connection does not take at once waits here: a
/// part of a line, and the newest place.
class tcp_done_lines {
public:
  void add(const std::string& place) { newest_ = place; }
  /// On a new connection what was said before may have been lost.
  void begin_again() {
    unsent_.clear();
    if (newest_.empty())
      newest_ = said_;
  }
  void send_by(queue_connection& x) {
    for (;;) {
      if (unsent_.empty() && !newest_.empty()) {
        unsent_ = "done " + newest_ + '\n';
        said_ = std::exchange(newest_, {});
      }
      if (unsent_.empty())
        return;
      unsent_.erase(0, x.send_now(unsent_));
      if (!unsent_.empty())
        return;
    }
  }

private:
  std::string newest_;
  std::string said_;
  std::string unsent_;
};

} // namespace

class tcp_lines : public feed_input {
public:
  explicit tcp_lines(queue_place from) : from_(std::move(from)) {}

  const std::string& name() const override { return from_.name; }
  feed_format format() const override { return feed_format::lines; }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

private:
  class reader;
  const queue_place from_;
};

class tcp_lines::reader : public feed_reader {
public:
  reader(const queue_place& from, std::string last)
      : from_(from), at_(std::move(last)),
        reading_(
            from, [this](queue_connection& x) { greet(x); }, stop_) {}
  ~reader() override { leave(); }

  bool take(const std::function<void(const placed_record&)>& add) override {
    if (has_ended_)
      return false;
    bool goes_on = true;
    bool is_done = false;
    try {
      is_done = reading_.do_connected([&](queue_connection& x) { goes_on = take_from(x, add); });
    } catch (...) {
      leave(); // acknowledgements may still come
      throw;
    }
    if (!is_done)
      leave();
    return is_done && goes_on;
  }

  /// Without a connection it is said by the next one.
  bool acknowledge(std::span<const std::string> places) override {
    if (places.empty())
      return true;
    const mutex_lock lock{mutex_};
    done_.add(places.back());
    say_done();
    return true;
  }

  void interrupt() noexcept override { stop_.set(); }

private:
  void greet(queue_connection& x) {
    x.send(at_.empty() ? std::string{"from\n"} : "from " + at_ + '\n');
    const mutex_lock lock{mutex_};
    done_.begin_again();
    open_ = &x;
    say_done();
  }

  /// The connection may be gone afterwards.
  void leave() {
    const mutex_lock lock{mutex_};
    open_ = nullptr;
  }

  /// Of a connection that has ended, the thread that reads hears by itself.
  void say_done() LEAT_REQUIRES(mutex_) {
    try {
      if (open_)
        done_.send_by(*open_);
    } catch (const queue_lost&) {
      open_ = nullptr;
    }
  }

  bool take_from(queue_connection& x, const std::function<void(const placed_record&)>& add) {
    try {
      return take_lines(x, add);
    } catch (...) {
      leave(); // the session ends the connection
      throw;
    }
  }

  bool take_lines(queue_connection& x, const std::function<void(const placed_record&)>& add) {
    std::size_t bytes = 0;
    for (std::size_t known = 0;;) {
      const auto line = read_tcp_line(x.unread(), known);
      if (line.is == tcp_line::kind::end) {
        has_ended_ = true;
        return bytes > 0;
      }
      if (line.is == tcp_line::kind::wrong)
        refuse("a line that is none of this protocol: "
               + excerpt(x.unread().substr(0, line.size == 0 ? x.unread().npos : line.size - 1)));
      if (line.is == tcp_line::kind::record) {
        add_one(line, add);
        x.take(line.size);
        bytes += line.size;
        known = 0;
        if (bytes < tcp_bytes_per_take)
          continue;
        return true;
      }
      if (bytes > 0)
        return true;
      known = x.unread().size();
      x.receive(std::chrono::steady_clock::now() + tcp_line_pause);
    }
  }

  void add_one(const tcp_line& x, const std::function<void(const placed_record&)>& add) {
    if (x.place == at_)
      refuse("the place " + excerpt(x.place) + " twice, one after the other");
    add({.place = x.place, .content = x.content});
    at_ = x.place;
  }

  [[noreturn]] void refuse(std::string got) const {
    throw_file_error(errc::io, "feed's input", from_.name, std::move(got), tcp_line_form);
  }

  const queue_place& from_;
  const wake_event stop_;
  /// Of the last line that was added.
  std::string at_;
  bool has_ended_ = false;
  mutex mutex_;
  /// While there is a connection, and it has been greeted.
  queue_connection* open_ LEAT_GUARDED_BY(mutex_) = nullptr;
  tcp_done_lines done_ LEAT_GUARDED_BY(mutex_);
  queue_session reading_;
};

std::unique_ptr<feed_reader> tcp_lines::begin(const std::string& last) {
  return std::make_unique<reader>(from_, last);
}

queue_place tcp_lines_of(queue_address from) {
  auto x = take_place(from);
  refuse_parameters(from, "patience");
  if (!from.path.empty())
    refuse_address(from, "a path", "tcp://HOST:PORT?patience=SECONDS");
  if (!from.user.is_empty() || !from.password.is_empty())
    refuse_address(from, "a user or a password, which lines over TCP do not have",
                   "tcp://HOST:PORT?patience=SECONDS");
  return x;
}

std::shared_ptr<feed_input> tcp_lines_input(queue_place from) {
  return std::make_shared<tcp_lines>(std::move(from));
}

} // namespace leat
