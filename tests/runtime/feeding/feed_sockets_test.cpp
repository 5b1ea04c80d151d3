#include "runtime/feeding/feed_hall.hpp"
#include "runtime/feeding/feed_node.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/sources/feed/file_lines.hpp"
#include "runtime/sources/feed/placed_input.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "tests/support/files.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/network_link.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <deque>
#include <set>
#include <thread>

namespace leat::feed_sockets_test {
namespace {

constexpr const char* feed_name = "queue";

std::string text_of(std::uint64_t number, std::size_t size) {
  auto text = std::to_string(number) + ':';
  text.resize(std::max(text.size(), size), 'x');
  return text;
}

/// Gives records, as many as a test lets it, and ends after the last one.
class gated_records {
public:
  gated_records(std::uint64_t all, std::size_t size) : all_(all), size_(size) {}

  std::shared_ptr<once_input> input() {
    return function_samples("records", [this](sample& x) {
      mutex_lock lock{mutex_};
      while (next_ >= open_ && next_ < all_ && !is_closed_)
        changed_.wait(mutex_);
      if (next_ == all_ || is_closed_)
        return false;
      x.set("text", text_of(next_++, size_));
      return true;
    });
  }
  void let(std::uint64_t below) {
    const mutex_lock lock{mutex_};
    open_ = below;
    changed_.notify_all();
  }
  void close() {
    const mutex_lock lock{mutex_};
    is_closed_ = true;
    changed_.notify_all();
  }
  std::uint64_t given() const {
    const mutex_lock lock{mutex_};
    return next_;
  }

private:
  const std::uint64_t all_;
  const std::size_t size_;
  mutable mutex mutex_;
  condition_variable changed_;
  std::uint64_t open_ LEAT_GUARDED_BY(mutex_) = UINT64_MAX;
  std::uint64_t next_ LEAT_GUARDED_BY(mutex_) = 0;
  bool is_closed_ LEAT_GUARDED_BY(mutex_) = false;
};

/// Lines that are remembered, and that can be waited for.
class heard_lines {
public:
  std::function<void(const std::string&)> writer() {
    return [this](const std::string& line) {
      const mutex_lock lock{mutex_};
      lines_.push_back(line);
      changed_.notify_all();
    };
  }
  bool wait_for(const std::string& part) {
    const mutex_lock lock{mutex_};
    const auto until = test::within(test::soon);
    const auto is_it = [&](const std::string& x) { return x.find(part) != x.npos; };
    while (std::none_of(lines_.begin(), lines_.end(), is_it))
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }

  std::ptrdiff_t count(const std::string& part) {
    const mutex_lock lock{mutex_};
    return std::count_if(lines_.begin(), lines_.end(),
                         [&](const std::string& x) { return x.find(part) != x.npos; });
  }

private:
  mutex mutex_;
  condition_variable changed_;
  std::deque<std::string> lines_ LEAT_GUARDED_BY(mutex_);
};

/// A rank's end of one feed.
class fed_place {
public:
  fed_place(std::uint64_t rank, std::uint64_t world_size, std::uint64_t window = 1 << 20,
            std::shared_ptr<renewed_certificates> certificates = {},
            const std::optional<feed_client::known_stream>& decided = {})
      : rank_(rank), world_size_(world_size),
        station_(std::make_shared<feed_station>(
            feed_name, feed_station::settings{.window = window, .log = lines.writer()})) {
    station_->attend({.lanes = 4, .world_size = world_size, .rank = rank});
    hall_ = std::make_unique<feed_hall>(
        feed_hall_config{.guard = {.at = *parse_ip("127.0.0.1"),
                                   .certificates = std::move(certificates),
                                   .rules = {.token = secret{"known"}}},
                         .stations = {station_},
                         .judge = judge_of(decided),
                         .log = lines.writer()});
  }

  /// The next record of the rank's lanes, in the order of their numbers; nothing at the end.
  std::optional<std::string> next() {
    while (next_ % 4 % world_size_ != rank_)
      ++next_;
    std::atomic<bool> stop = false;
    auto state = station_->peek(next_);
    while (state == live_source::state::pending) {
      station_->wait(next_, stop);
      state = station_->peek(next_);
    }
    if (state == live_source::state::ended)
      return std::nullopt;
    const auto read = station_->read(next_);
    sample x;
    set_fields(x, std::as_bytes(std::span{*read.content}));
    ++next_;
    return std::string{x.text("text")};
  }
  void begin_again() { next_ = 0; }
  std::uint64_t next_number() const { return next_; }
  /// None of those that it has had is needed any more.
  void cover() {
    for (auto lane = rank_; lane < 4; lane += world_size_) {
      auto number = lane;
      while (number < next_)
        number += 4;
      station_->release_below(number, lane);
    }
  }
  void leave() {
    hall_->finish();
    hall_ = nullptr;
  }
  /// Before it has had all records.
  void break_off() { hall_ = nullptr; }
  feed_station& station() { return *station_; }
  std::string join() const { return "127.0.0.1:" + std::to_string(hall_->port()); }

  heard_lines lines;

private:
  using verdict = std::optional<feed_client::known_stream>;
  static std::function<verdict(const feed_offer&)> judge_of(const verdict& decided) {
    if (!decided)
      return {};
    return [decided](const feed_offer&) { return decided; };
  }

  const std::uint64_t rank_;
  const std::uint64_t world_size_;
  std::shared_ptr<feed_station> station_;
  std::unique_ptr<feed_hall> hall_;
  std::uint64_t next_ = 0;
};

/// A feed's process, in threads of this one.
class running_feed {
public:
  running_feed(feed_settings x, std::vector<std::string> others = {}) {
    x.name = x.name.empty() ? feed_name : x.name;
    x.token = "known";
    x.stop = stop_.get_token();
    x.log = lines.writer();
    node_ = std::make_unique<feed_node>(std::move(x), [others] { return others; });
    thread_ = std::thread{[this] {
      try {
        node_->run();
      } catch (const error& problem) {
        failure = problem.what();
      }
    }};
  }
  ~running_feed() { end(); }
  void end() {
    stop_.request_stop();
    wait();
  }
  void wait() {
    if (thread_.joinable())
      thread_.join();
    node_ = nullptr;
  }

  heard_lines lines;
  /// To be looked at after the end.
  std::string failure;

private:
  std::stop_source stop_;
  std::unique_ptr<feed_node> node_;
  std::thread thread_;
};

/// A queue whose messages are texts of their numbers, which are their places; remembers what was
/// acknowledged.
class book_queue : public feed_input {
public:
  explicit book_queue(std::uint64_t all) : all_(all) {}

  const std::string& name() const override { return name_; }
  feed_format format() const override { return feed_format::samples; }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

  bool wait_for_acknowledged(std::uint64_t number) {
    const mutex_lock lock{mutex_};
    const auto until = test::within(test::soon);
    while (!acknowledged_.contains(std::to_string(number)))
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }

  std::size_t acknowledged() const {
    const mutex_lock lock{mutex_};
    return acknowledged_.size();
  }
  /// From now on it takes no acknowledgement.
  void hold() {
    const mutex_lock lock{mutex_};
    is_held_ = true;
  }
  /// One is held.
  bool wait_for_held() {
    const mutex_lock lock{mutex_};
    const auto until = test::within(test::soon);
    while (!holds_)
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }

private:
  class reader;

  const std::uint64_t all_;
  const std::string name_ = "book";
  mutable mutex mutex_;
  condition_variable changed_;
  std::set<std::string> acknowledged_ LEAT_GUARDED_BY(mutex_);
  bool is_held_ LEAT_GUARDED_BY(mutex_) = false;
  bool holds_ LEAT_GUARDED_BY(mutex_) = false;
};

class book_queue::reader : public feed_reader {
public:
  reader(book_queue& of, std::uint64_t next) : of_(of), next_(next) {}

  bool take(const std::function<void(const placed_record&)>& add) override {
    if (next_ < of_.all_) {
      sample x;
      x.set("text", text_of(next_, 10));
      const auto place = std::to_string(next_++);
      add({.place = place, .content = bytes_of(x)});
    }
    return next_ < of_.all_;
  }
  bool acknowledge(std::span<const std::string> places) override {
    const mutex_lock lock{of_.mutex_};
    of_.holds_ = of_.is_held_;
    of_.changed_.notify_all();
    while (of_.is_held_ && !is_interrupted_)
      of_.changed_.wait(of_.mutex_);
    if (of_.is_held_)
      return false;
    of_.acknowledged_.insert(places.begin(), places.end());
    of_.changed_.notify_all();
    return true;
  }
  void interrupt() noexcept override {
    const mutex_lock lock{of_.mutex_};
    is_interrupted_ = true;
    of_.changed_.notify_all();
  }

private:
  book_queue& of_;
  bool is_interrupted_ LEAT_GUARDED_BY(of_.mutex_) = false;
  std::uint64_t next_;
};

std::unique_ptr<feed_reader> book_queue::begin(const std::string& last) {
  return std::make_unique<reader>(*this, last.empty() ? 0 : std::stoull(last) + 1);
}

void check_all(fed_place& of, std::uint64_t below, std::size_t size) {
  for (;;) {
    const auto number = of.next_number();
    const auto x = of.next();
    if (!x)
      break;
    const auto colon = x->find(':');
    REQUIRE(colon != x->npos);
    const auto got = std::stoull(x->substr(0, colon));
    REQUIRE(got >= number);
    REQUIRE(*x == text_of(got, size));
    if (got % 64 == 0)
      of.cover();
  }
  REQUIRE(of.next_number() + 4 > below);
  of.cover();
}

TEST_CASE("feed sockets: a rank has each record, in its order, and the feed ends with it") {
  gated_records records{2000, 100};
  fed_place rank{0, 1};
  running_feed feed{{.join = rank.join(), .input = records.input()}};
  check_all(rank, 2000, 100);
  rank.leave();
  feed.wait(); // by itself: the source has ended, and the only rank is done
  CHECK(feed.failure.empty());
}

TEST_CASE("feed sockets: two ranks share the lanes, with TLS too, and large records pass windows") {
  const bool is_secured = GENERATE(false, true);
  const test::link_site site;
  const auto theirs = is_secured ? site.issue("feed", {link_role::feed}) : std::string{};
  const auto ours = is_secured
                        ? certificates_in(site.issue("rank", {link_role::rank}), {link_role::rank})
                        : nullptr;
  const std::size_t size = 70'000; // three do not fit into the window
  gated_records records{200, size};
  fed_place a{0, 2, 200'000, ours};
  fed_place b{1, 2, 200'000, ours};
  // One after the other: a feed that has a single place to join has a single rank.
  const test::temporary_directory at;
  running_feed feed{{.join = a.join(),
                     .journal = at / "journal",
                     .certificates = theirs,
                     .input = records.input()}};
  check_all(a, 200, size); // the other rank's lanes do not hold it back: there is a journal
  feed.end();
  gated_records none{0, size};
  running_feed again{
      {.join = b.join(), .journal = at / "journal", .certificates = theirs, .input = none.input()}};
  check_all(b, 200, size);
}

TEST_CASE("feed sockets: a rank knows what came, what that cost, and how far it and the feed are") {
  gated_records records{200, 100};
  records.let(100);
  fed_place rank{0, 1};
  CHECK(rank.station().tally().at.empty());
  running_feed feed{{.join = rank.join(), .input = records.input()}};
  for (int i = 0; i < 100; ++i)
    REQUIRE(rank.next());
  const auto half = rank.station().tally();
  CHECK(half.name == feed_name);
  CHECK(half.at.starts_with("127.0.0.1:"));
  CHECK_FALSE(half.has_journal);
  CHECK_FALSE(half.has_ended);
  CHECK(half.records_read == 100);
  CHECK(half.reached == 100);
  CHECK(half.needed_from == 0);
  CHECK(half.records_taken == 100);
  CHECK(half.records_received == 100);
  CHECK(half.bytes_received >= 100 * 100);
  REQUIRE(rank.station().peek(100) == live_source::state::pending);
  records.let(200);
  while (rank.next()) {
  }
  rank.cover();
  const auto all = rank.station().tally();
  CHECK(all.has_ended);
  CHECK(all.records_read == 200);
  CHECK(all.reached == 200);
  CHECK(all.needed_from >= 200);
  CHECK(all.records_taken == 200);
  CHECK(all.records_received == 200);
  // Those of the first half are certainly counted.
  CHECK(all.wire_bytes > half.bytes_received);
  CHECK(all.processor > 0);
  CHECK(all.starved > 0);
  CHECK(all.costs.records_sent >= 100);
  CHECK(all.costs.bytes_sent >= half.bytes_received);
  CHECK(all.costs.reading_ns > 0);
  CHECK(all.costs.sending_ns > 0);
  feed.end();
  rank.leave();
  CHECK(rank.station().tally().at.empty());
  CHECK(rank.station().tally().records_received == 200);
}

TEST_CASE("feed sockets: a rank that does not read stops the source within a bound") {
  // Small ones take more memory than their bytes.
  for (const std::uint64_t size : {10'000, 20}) {
    CAPTURE(size);
    gated_records records{1'000'000, size};
    fed_place rank{0, 1, 100'000};
    running_feed feed{
        {.join = rank.join(), .memory = std::uint64_t{16} << 20, .input = records.input()}};
    REQUIRE(rank.next());
    REQUIRE(feed.lines.wait_for("serves rank 0 of 1"));
    // Nothing is covered, and iterators look on as far as records come: the memory, and what is
    // read ahead.
    std::uint64_t i = 1;
    for (int waits = 0; waits < 100 && i < 1'000'000;)
      if (rank.station().peek(i) == live_source::state::ready) {
        ++i;
        waits = 0;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        ++waits;
      }
    CHECK(i > 1000);
    CHECK(records.given() * (size + 64) <= (std::uint64_t{34} << 20));
    records.close();
  }
}

TEST_CASE("feed sockets: a feed with a journal that vanishes and comes back loses nothing") {
  const test::temporary_directory at;
  fed_place rank{0, 1};
  const auto join = rank.join();
  std::uint64_t had = 0;
  for (int life = 0; life < 4; ++life) {
    // It continues where its journal ends, as a queue would.
    std::uint64_t first = 0;
    const auto input = function_samples("records", [&first](sample& x) {
      x.set("text", text_of(first++, 50));
      return true;
    });
    {
      journal kept{at / "journal", {.format = record_format::frames}};
      first = kept.next();
    }
    running_feed feed{{.join = join, .journal = at / "journal", .input = input}};
    for (int i = 0; i < 300; ++i, ++had)
      REQUIRE(rank.next() == text_of(had, 50));
    rank.cover();
  }
}

TEST_CASE("feed sockets: what is covered after the end of a queue is acknowledged, too") {
  const auto queue = std::make_shared<book_queue>(40);
  fed_place rank{0, 1};
  running_feed feed{{.join = rank.join(), .input = std::make_shared<placed_input>(queue)}};
  while (rank.next()) {
  }
  REQUIRE(feed.lines.wait_for("the source has ended after 40 records"));
  rank.cover();
  for (const std::uint64_t number : {0, 20, 39})
    CHECK(queue->wait_for_acknowledged(number));
}

TEST_CASE("feed sockets: what a rank has used is acknowledged, however soon it and the feed end") {
  const auto queue = std::make_shared<book_queue>(UINT64_MAX);
  fed_place rank{0, 1};
  running_feed feed{{.join = rank.join(), .input = std::make_shared<placed_input>(queue)}};
  for (int i = 0; i < 9; ++i) // so few that nothing but its leave makes it speak
    REQUIRE(rank.next());
  rank.cover();
  rank.break_off();
  feed.end();
  CHECK(queue->acknowledged() == 9);
  CHECK(feed.failure.empty());
}

TEST_CASE("feed sockets: what a rank has used is acknowledged at the end of the data") {
  const auto queue = std::make_shared<book_queue>(9);
  fed_place rank{0, 1};
  running_feed feed{{.join = rank.join(), .input = std::make_shared<placed_input>(queue)}};
  while (rank.next()) {
  }
  rank.cover();
  rank.leave();
  feed.wait();
  CHECK(queue->acknowledged() == 9);
}

TEST_CASE("feed sockets: a queue that takes no acknowledgement does not keep a feed that ends") {
  const test::temporary_directory at;
  fed_place rank{0, 1};
  const auto feed_by = [&](const std::shared_ptr<book_queue>& queue) {
    return std::make_unique<running_feed>(
        feed_settings{.join = rank.join(),
                      .journal = at / "journal",
                      .input = std::make_shared<placed_input>(queue)});
  };
  const auto silent = std::make_shared<book_queue>(UINT64_MAX);
  silent->hold();
  auto feed = feed_by(silent);
  for (int i = 0; i < 9; ++i)
    REQUIRE(rank.next());
  rank.cover();
  rank.station().tick(0);
  REQUIRE(silent->wait_for_held());
  feed->end();
  CHECK(feed->lines.wait_for("book did not take the last acknowledgements"));
  CHECK(silent->acknowledged() == 0);
  const auto queue = std::make_shared<book_queue>(UINT64_MAX);
  feed = feed_by(queue); // the journal has what was not acknowledged
  for (int i = 0; i < 5000; ++i)
    REQUIRE(rank.next());
  CHECK(queue->wait_for_acknowledged(8));
}

TEST_CASE("feed sockets: what ranks have covered before a feed that comes back reads its queue is "
          "acknowledged once it does") {
  const test::temporary_directory at;
  fed_place rank{0, 1};
  const auto join = rank.join();
  std::uint64_t number = 0;
  const auto feed_by = [&](const std::shared_ptr<book_queue>& queue) {
    return std::make_unique<running_feed>(feed_settings{
        .join = join, .journal = at / "journal", .input = std::make_shared<placed_input>(queue)});
  };
  {
    const auto feed = feed_by(std::make_shared<book_queue>(UINT64_MAX));
    for (; number < 300; ++number)
      REQUIRE(rank.next() == text_of(number, 10));
  }
  rank.cover();
  const auto queue = std::make_shared<book_queue>(UINT64_MAX);
  const auto feed = feed_by(queue);
  REQUIRE(feed->lines.wait_for("serves rank 0 of 1"));
  for (; number < 5000; ++number) // beyond what the journal has
    REQUIRE(rank.next() == text_of(number, 10));
  for (const std::uint64_t covered : {0, 150, 299})
    CHECK(queue->wait_for_acknowledged(covered));
}

TEST_CASE("feed sockets: what ranks cover after a feed comes back to a queue that has ended is "
          "acknowledged, however soon they leave") {
  const bool is_soon = GENERATE(false, true);
  const test::temporary_directory at;
  fed_place rank{0, 1};
  const auto join = rank.join();
  const auto feed_by = [&](const std::shared_ptr<book_queue>& queue) {
    return std::make_unique<running_feed>(feed_settings{
        .join = join, .journal = at / "journal", .input = std::make_shared<placed_input>(queue)});
  };
  {
    const auto feed = feed_by(std::make_shared<book_queue>(40));
    while (rank.next()) {
    }
    REQUIRE(feed->lines.wait_for("the source has ended after 40 records"));
  }
  const auto queue = std::make_shared<book_queue>(40);
  const auto feed = feed_by(queue);
  REQUIRE(feed->lines.wait_for("serves rank 0 of 1"));
  rank.cover();
  if (is_soon)
    rank.leave();
  else
    rank.station().tick(0);
  for (const std::uint64_t number : {0, 20, 39})
    CHECK(queue->wait_for_acknowledged(number));
  if (is_soon)
    feed->wait();
  CHECK(feed->failure.empty());
}

TEST_CASE(
    "feed sockets: a queue that has ended, and gives more when a feed comes back to it, fails "
    "nobody, and is acknowledged no more") {
  const test::temporary_directory at;
  fed_place rank{0, 1};
  const auto join = rank.join();
  const auto feed_by = [&](std::uint64_t all) {
    return std::make_unique<running_feed>(
        feed_settings{.join = join,
                      .journal = at / "journal",
                      .input = std::make_shared<placed_input>(std::make_shared<book_queue>(all))});
  };
  {
    const auto feed = feed_by(40);
    while (rank.next()) {
    }
    REQUIRE(feed->lines.wait_for("the source has ended after 40 records"));
  }
  const auto feed = feed_by(50);
  REQUIRE(feed->lines.wait_for("serves rank 0 of 1"));
  rank.begin_again();
  rank.cover();
  for (std::uint64_t number = 0; number < 40; ++number)
    REQUIRE(rank.next() == text_of(number, 10));
  rank.cover();
  rank.leave();
  CHECK(feed->lines.wait_for("what ranks have used is not acknowledged any more"));
  feed->wait();
  CHECK(feed->failure.empty());
}

TEST_CASE("feed sockets: files that were read to their end are not looked at again, and no "
          "acknowledgement is missed") {
  const test::temporary_directory at;
  const std::string file = at / "lines";
  test::write_content(file, "0\n1\n2\n3\n");
  fed_place rank{0, 1};
  auto& station = rank.station();
  const auto join = rank.join();
  const auto begun = [&] {
    return std::make_unique<running_feed>(
        feed_settings{.join = join,
                      .journal = at / "journal",
                      .input = std::make_shared<placed_input>(file_lines({file}))});
  };
  {
    const auto feed = begun();
    const std::atomic<bool> stop = false;
    std::uint64_t number = 0;
    for (;; ++number) {
      while (station.peek(number) == live_source::state::pending)
        station.wait(number, stop);
      if (station.peek(number) == live_source::state::ended)
        break;
      REQUIRE(*station.read(number).content == std::to_string(number));
    }
    REQUIRE(number == 4);
    REQUIRE(feed->lines.wait_for("the source has ended after 4 records"));
  }
  std::filesystem::remove(file);
  const auto feed = begun();
  REQUIRE(feed->lines.wait_for("serves rank 0 of 1"));
  for (std::uint64_t lane = 0; lane < 4; ++lane)
    station.release_below(lane + 4, lane);
  rank.leave();
  feed->wait();
  CHECK(feed->failure.empty());
  CHECK(feed->lines.count("acknowledge") == 0);
}

TEST_CASE("feed sockets: one without a journal that comes back is a clear error") {
  fed_place rank{0, 1};
  const auto join = rank.join();
  gated_records records{UINT64_MAX, 50};
  {
    running_feed feed{{.join = join, .input = records.input()}};
    REQUIRE(rank.next());
  }
  running_feed other{{.join = join, .input = records.input()}};
  std::string why;
  try {
    while (rank.next()) {
    }
  } catch (const error& problem) {
    why = problem.what();
  }
  CHECK(why.find("had no journal") != why.npos);
  CHECK(why.find(feed_name) != why.npos);
}

TEST_CASE("feed sockets: a second process that serves the name is refused") {
  fed_place rank{0, 1};
  gated_records records{UINT64_MAX, 50};
  gated_records others{UINT64_MAX, 60};
  running_feed feed{{.join = rank.join(), .input = records.input()}};
  REQUIRE(rank.next());
  running_feed second{{.join = rank.join(), .input = others.input()}};
  CHECK(second.lines.wait_for("another process serves feed"));
  running_feed third{{.name = "other", .join = rank.join(), .input = others.input()}};
  CHECK(third.lines.wait_for("this job reads no feed \"other\""));
  for (std::uint64_t i = 1; i < 500; ++i)
    REQUIRE(rank.next() == text_of(i, 50));
  CHECK(others.given() == 0);
}

/// Two feeds whose journals have the same records; `original` has given the rank five.
struct copied_feed {
  test::temporary_directory at;
  gated_records records{UINT64_MAX, 50};
  gated_records others{UINT64_MAX, 60};
  fed_place rank{0, 1};

  std::string place() const {
    const auto join = rank.join();
    return join.substr(join.find(':') + 1);
  }
  feed_settings original(const std::string& join) {
    records.let(5);
    return {.join = join, .journal = at / "journal", .input = records.input()};
  }
  feed_settings copy() {
    for (std::uint64_t i = 0; i < 5; ++i)
      REQUIRE(rank.next() == text_of(i, 50));
    std::filesystem::copy(at / "journal", at / "copy", std::filesystem::copy_options::recursive);
    return {.join = rank.join(), .journal = at / "copy", .input = others.input()};
  }
};

TEST_CASE("feed sockets: a copy of the journal is refused as long as the other one is served") {
  copied_feed x;
  running_feed feed{x.original(x.rank.join())};
  running_feed second{x.copy()};
  CHECK(second.lines.wait_for("a copy of it"));
  x.records.let(7);
  REQUIRE(x.rank.next() == text_of(5, 50));
  CHECK(x.rank.lines.count("is gone") == 0);
  CHECK(x.others.given() == 0);
  SECTION("and taken when it has ended") {
    x.records.close();
    feed.end();
    CHECK(second.lines.wait_for("serves rank 0 of 1"));
  }
}

TEST_CASE("feed sockets: a copy of the journal is taken once the other one was silent for 3 s") {
  copied_feed x;
  test::network_link way{static_cast<std::uint16_t>(std::stoul(x.place()))};
  running_feed feed{x.original(way.address())};
  const auto copy = x.copy();
  way.silence();
  const auto since = std::chrono::steady_clock::now();
  running_feed second{copy};
  REQUIRE(second.lines.wait_for("serves rank 0 of 1"));
  const auto took = std::chrono::steady_clock::now() - since;
  CHECK(took > std::chrono::seconds{1}); // it was heard of up to a second before
  CHECK(took < std::chrono::seconds{8});
  REQUIRE(x.rank.next() == text_of(0, 60)); // what the copy's process has given after the five
  way.restore();
  CHECK(feed.lines.wait_for("a copy of it"));
  x.records.close();
}

TEST_CASE("feed sockets: what the job has decided holds for a rank that has no feed yet") {
  fed_place first{0, 2};
  gated_records records{UINT64_MAX, 50};
  running_feed feed{{.join = first.join(), .input = records.input()}};
  REQUIRE(first.next());
  fed_place second{1, 2, 1 << 20, {}, first.station().served()};
  gated_records others{UINT64_MAX, 60};
  running_feed other{{.join = second.join(), .input = others.input()}};
  CHECK(other.lines.wait_for("another process serves feed"));
  CHECK(others.given() == 0);
}

TEST_CASE("feed sockets: a job that resumes takes the records that it has used, and no others") {
  const test::temporary_directory at;
  gated_records records{UINT64_MAX, 50};
  hash128 used;
  {
    fed_place rank{0, 1};
    running_feed feed{{.join = rank.join(), .journal = at / "journal", .input = records.input()}};
    REQUIRE(rank.next());
    used = rank.station().served()->id;
  }
  fed_place rank{0, 1};
  gated_records others{UINT64_MAX, 60};
  const bool is_there_before = GENERATE(false, true);
  if (!is_there_before)
    rank.station().expect({.id = used});
  running_feed other{{.join = rank.join(), .journal = at / "other", .input = others.input()}};
  if (is_there_before) {
    REQUIRE(rank.next() == text_of(0, 60));
    rank.station().expect({.id = used});
  }
  CHECK(other.lines.wait_for("begin it with the journal of that feed"));
  gated_records none{0, 50};
  running_feed feed{{.join = rank.join(), .journal = at / "journal", .input = none.input()}};
  rank.begin_again();
  REQUIRE(rank.next() == text_of(0, 50));
}

TEST_CASE("feed sockets: a source that fails is the feed's error, and the ranks'") {
  fed_place rank{0, 1};
  int made = 0;
  running_feed feed{{.join = rank.join(), .input = function_samples("records", [&](sample& x) {
                                            if (++made > 5)
                                              throw std::runtime_error("the queue is on fire");
                                            x.set("text", text_of(0, 10));
                                            return true;
                                          })}};
  std::string why;
  try {
    while (rank.next()) {
    }
  } catch (const error& problem) {
    why = problem.what();
  }
  CHECK(why.find("the queue is on fire") != why.npos);
  rank.leave();
  feed.wait();
  CHECK(feed.failure.find("the queue is on fire") != feed.failure.npos);
}

TEST_CASE("feed sockets: a large record that comes slowly is no silence") {
  constexpr std::size_t size = 10'000'000;
  gated_records records{1, size};
  fed_place rank{0, 1};
  const auto port = rank.join().substr(rank.join().find(':') + 1);
  test::network_link way{static_cast<std::uint16_t>(std::stoul(port)),
                         [](std::uint64_t, bool is_to_rank, const std::string&) {
                           if (is_to_rank) // so that it takes more than 10 s
                             std::this_thread::sleep_for(std::chrono::milliseconds{20});
                         }};
  running_feed feed{{.join = way.address(), .input = records.input()}};
  CHECK(rank.next() == text_of(0, size));
  CHECK(rank.lines.count("is gone") == 0);
  rank.leave();
  feed.wait();
  CHECK(feed.failure.empty());
}

TEST_CASE("feed sockets: a rank that waits for a record is woken by the end of its job") {
  fed_place rank{0, 1};
  gated_records records{UINT64_MAX, 50};
  std::optional<running_feed> feed;
  feed.emplace(feed_settings{.join = rank.join(), .input = records.input()});
  REQUIRE(rank.next());
  REQUIRE(rank.station().peek(1) != live_source::state::ended);
  feed.reset();
  std::optional<errc> code;
  std::thread reads{[&] { code = code_of([&] { rank.station().read(1'000'000); }); }};
  rank.station().wake();
  reads.join();
  CHECK(code == errc::interrupted);
}

} // namespace
} // namespace leat::feed_sockets_test
