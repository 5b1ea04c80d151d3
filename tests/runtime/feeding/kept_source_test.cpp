#include "runtime/feeding/feed_hall.hpp"
#include "runtime/feeding/feed_node.hpp"
#include "runtime/feeding/kept_source.hpp"
#include "runtime/sources/feed/feed_source.hpp"
#include "runtime/sources/feed/placed_input.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/once.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>

// Rank 0's process serves a source of its own to all ranks, and lets go of it for another process.
namespace leat::kept_source_test {
namespace {

const std::string own_name = name_of_own_source(0, "queue");

std::shared_ptr<once_input> numbers(std::uint64_t end) {
  return function_samples("queue", [end, next = std::uint64_t{0}](sample& x) mutable {
    if (next == end)
      return false;
    x.set("value", static_cast<std::int64_t>(next++));
    return true;
  });
}

/// Lines that can be waited for.
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
    while (std::none_of(lines_.begin(), lines_.end(),
                        [&](const std::string& x) { return has(x, part); }))
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }

private:
  mutex mutex_;
  condition_variable changed_;
  std::deque<std::string> lines_ LEAT_GUARDED_BY(mutex_);
};

/// A rank with four lanes over all ranks.
class rank_place {
public:
  rank_place(std::uint64_t rank, std::uint64_t world_size)
      : next_(rank), world_size_(world_size),
        station_(std::make_shared<feed_station>(own_name,
                                                feed_station::settings{.log = lines.writer()})),
        hall_(std::make_unique<feed_hall>(feed_hall_config{
            .guard = {.at = *parse_ip("127.0.0.1")},
            .stations = {station_,
                         std::make_shared<feed_station>("named", feed_station::settings{})},
            .log = lines.writer()})) {
    station_->attend({.lanes = 4, .world_size = world_size, .rank = rank});
  }

  /// The value of the next record of its lanes; nothing at the end.
  std::optional<std::uint64_t> next() {
    const std::atomic<bool> stop = false;
    while (station_->peek(next_) == live_source::state::pending)
      station_->wait(next_, stop);
    if (station_->peek(next_) == live_source::state::ended)
      return std::nullopt;
    sample x;
    set_fields(x, std::as_bytes(std::span{*station_->read(next_).content}));
    next_ += world_size_; // which divides the lanes
    return static_cast<std::uint64_t>(x.get<std::int64_t>("value"));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(hall_->port()); }
  /// It has had all records that it wants, and none of them is needed any more.
  void leave() {
    for (std::uint64_t lane = 0; lane < 4; ++lane)
      station_->release_below(next_ + 4, lane);
    hall_->finish();
    hall_ = nullptr;
  }

  heard_lines lines;

private:
  std::uint64_t next_;
  const std::uint64_t world_size_;
  std::shared_ptr<feed_station> station_;
  std::unique_ptr<feed_hall> hall_;
};

/// A queue of four lines that takes acknowledgements once it is let.
class slow_queue : public feed_input {
public:
  const std::string& name() const override { return name_; }
  feed_format format() const override { return feed_format::samples; }
  std::unique_ptr<feed_reader> begin(const std::string&) override;

  bool wait_for_acknowledgement() {
    const mutex_lock lock{mutex_};
    const auto until = test::within(test::soon);
    while (!is_told_)
      if (!changed_.wait_until(mutex_, until))
        return false;
    return true;
  }
  void let() {
    const mutex_lock lock{mutex_};
    is_let_ = true;
    changed_.notify_all();
  }

private:
  class reader;

  const std::string name_ = "slow";
  mutex mutex_;
  condition_variable changed_;
  bool is_told_ LEAT_GUARDED_BY(mutex_) = false;
  bool is_let_ LEAT_GUARDED_BY(mutex_) = false;
};

class slow_queue::reader : public feed_reader {
public:
  explicit reader(slow_queue& of) : of_(of) {}

  bool take(const std::function<void(const placed_record&)>& add) override {
    sample x;
    x.set("value", static_cast<std::int64_t>(next_));
    const auto place = std::to_string(next_++);
    add({.place = place, .content = bytes_of(x)});
    return next_ < 4;
  }
  bool acknowledge(std::span<const std::string>) override {
    const mutex_lock lock{of_.mutex_};
    of_.is_told_ = true;
    of_.changed_.notify_all();
    while (!of_.is_let_)
      of_.changed_.wait(of_.mutex_);
    return true;
  }
  void interrupt() noexcept override {}

private:
  slow_queue& of_;
  int next_ = 0;
};

std::unique_ptr<feed_reader> slow_queue::begin(const std::string&) {
  return std::make_unique<reader>(*this);
}

kept_source::settings settings_of(std::shared_ptr<once_input> input, std::vector<std::string> ranks,
                                  std::string journal, heard_lines& lines) {
  return {.feed = {.name = own_name,
                   .role = link_role::rank,
                   .journal = std::move(journal),
                   .takes_over = true,
                   .input = std::move(input),
                   .log = lines.writer()},
          .find = [ranks = std::move(ranks)] { return ranks; },
          .is_first = [] { return true; },
          .failed = lines.writer()};
}

TEST_CASE("kept_source: all ranks have their records of a source that one process reads") {
  const test::temporary_directory at;
  const std::string journal = GENERATE(true, false) ? at / "journal" : "";
  rank_place a{0, 2};
  rank_place b{1, 2};
  heard_lines lines;
  kept_source source{settings_of(numbers(400), {a.address(), b.address()}, journal, lines)};
  source.serve();
  for (std::uint64_t i = 0; i < 400; i += 2) {
    REQUIRE(a.next() == i);
    REQUIRE(b.next() == i + 1);
  }
  CHECK_FALSE(a.next());
  CHECK_FALSE(b.next());
}

TEST_CASE("kept_source: another process gets the journal, and gives it back") {
  const test::temporary_directory at;
  const auto directory = at / "journal";
  rank_place rank{0, 1};
  heard_lines lines;
  std::atomic<bool> is_first = true;
  auto settings = settings_of(numbers(20'000), {rank.address()}, directory, lines);
  settings.is_first = [&] { return is_first.load(); };
  kept_source source{std::move(settings)};
  source.serve();
  for (std::uint64_t i = 0; i < 100; ++i)
    REQUIRE(rank.next() == i);
  is_first = false;
  std::optional<journal> other;
  for (const auto until = test::within(test::soon); !other;) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    try {
      other.emplace(directory, journal_format{.format = record_format::frames});
    } catch (const journal_in_use&) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }
  CHECK(other->next() >= 100);
  is_first = true;
  REQUIRE(lines.wait_for("waits for the process that was rank 0 before"));
  other.reset();
  for (std::uint64_t i = 100; i < 20'000; ++i)
    REQUIRE(rank.next() == i);
  CHECK_FALSE(rank.next());
}

TEST_CASE("kept_source: a journal of one process is continued, and what cannot be served is told") {
  const test::temporary_directory at;
  const auto directory = at / "journal";
  heard_lines lines;
  {
    journal kept{directory, {.format = record_format::frames}};
    sample x;
    x.set("value", std::int64_t{7});
    kept.append(bytes_of(x));
  }
  {
    rank_place rank{0, 1};
    kept_source source{settings_of(numbers(1), {rank.address()}, directory, lines)};
    source.serve();
    CHECK(rank.next() == 7);
    CHECK(rank.next() == 0);
    CHECK_FALSE(rank.next());
  }
  heard_lines failures;
  auto settings = settings_of(standard_input_lines(), {}, directory, lines);
  settings.failed = failures.writer();
  kept_source lines_of_input{std::move(settings)};
  lines_of_input.serve();
  CHECK(failures.wait_for("records of another kind of source"));
}

TEST_CASE(
    "kept_source: one that is told to serve while it fails tries that once more, not for ever") {
  const test::temporary_directory at;
  const auto directory = at / "journal";
  heard_lines lines;
  {
    journal kept{directory, {.format = record_format::frames}};
    kept.append("a record of another kind of source");
  }
  auto settings = settings_of(standard_input_lines(), {}, directory, lines);
  std::atomic<int> tries = 0;
  std::atomic<kept_source*> told = nullptr;
  settings.is_first = [&] {
    if (++tries == 1)
      told.load()->serve();
    return true;
  };
  std::atomic<int> failures = 0;
  settings.failed = [&](const std::string&) { ++failures; };
  kept_source source{std::move(settings)};
  told = &source;
  source.serve();
  for (const auto until = test::within(test::soon); failures < 2;) {
    REQUIRE(std::chrono::steady_clock::now() < until);
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{200}); // in which it would try a lot
  CHECK(failures == 2);
}

TEST_CASE("kept_source: ranks that come while the last ones' node ends are served as well") {
  const auto queue = std::make_shared<slow_queue>();
  std::optional<rank_place> first{std::in_place, 0, 1};
  rank_place second{0, 1};
  std::atomic<bool> is_second = false;
  heard_lines lines;
  auto settings = settings_of(std::make_shared<placed_input>(queue), {}, "", lines);
  settings.find = [&is_second, places = std::array{first->address(), second.address()}] {
    return std::vector{places[is_second ? 1 : 0]};
  };
  kept_source source{std::move(settings)};
  source.serve();
  for (std::uint64_t i = 0; i < 4; ++i)
    REQUIRE(first->next() == i);
  CHECK_FALSE(first->next());
  first->leave(); // returns once the node has taken leave; it waits for its queue
  REQUIRE(queue->wait_for_acknowledgement());
  is_second = true;
  source.serve();
  queue->let();
  REQUIRE(second.lines.wait_for("serves this rank"));
  for (std::uint64_t i = 0; i < 4; ++i)
    REQUIRE(second.next() == i);
  CHECK_FALSE(second.next());
}

TEST_CASE("kept_source: what a feed serves and what a rank serves are not taken for each other") {
  CHECK(code_of([] { (void)feed(own_name); }) == errc::invalid_argument);
  CHECK(
      code_of([] { (void)checked({.name = own_name, .join = "127.0.0.1:1", .input = numbers(1)}); })
      == errc::invalid_argument);
  rank_place rank{0, 1};
  heard_lines lines;
  heard_lines refusals;
  auto settings = settings_of(numbers(1), {rank.address()}, "", lines);
  settings.feed.name = "named";
  settings.feed.refused = [say = refusals.writer()](const std::string& address,
                                                    const std::string& why) {
    say(address + ": " + why);
  };
  kept_source source{std::move(settings)};
  source.serve();
  CHECK(refusals.wait_for(rank.address() + ": a rank may not serve feed \"named\""));
}

} // namespace
} // namespace leat::kept_source_test
