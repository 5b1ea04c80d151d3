#include "runtime/pipeline/operator_node.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/notice.hpp>
#include <leat/once.hpp>
#include <leat/sources.hpp>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>

namespace leat::once_test {
namespace {

using state = live_source::state;

const std::atomic<bool> never{false};

/// A new feed, as an engine makes one from a pipeline.
std::shared_ptr<live_source> feed_of(const pipeline& x) {
  return x.root().feed->get();
}

state peek_when_there(live_source& from, std::uint64_t number) {
  from.wait(number, never);
  return from.peek(number);
}

std::string text(const live_source& from, std::uint64_t number) {
  sample x;
  from.read(number, x);
  return std::string{x.text("text")};
}

/// All texts from a number to the end.
std::vector<std::string> texts(live_source& from, std::uint64_t number = 0) {
  std::vector<std::string> all;
  for (; peek_when_there(from, number) == state::ready; ++number)
    all.push_back(text(from, number));
  return all;
}

/// A count that can be awaited.
class awaited_count {
public:
  void add() {
    std::lock_guard lock{mutex_};
    ++count_;
    changed_.notify_all();
  }
  void wait_for(std::uint64_t count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  std::uint64_t now() {
    std::lock_guard lock{mutex_};
    return count_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};

/// A generator of numbers, called by one thread at a time.
struct numbers {
  explicit numbers(std::uint64_t x) : end(x) {}

  bool operator()(sample& into) {
    const auto next = given.now();
    if (next == end)
      return false;
    into.set("text", std::to_string(next));
    given.add();
    return true;
  }

  const std::uint64_t end;
  awaited_count given;
};

pipeline once_numbers(std::shared_ptr<numbers> from) {
  return once("numbers@1", [from = std::move(from)](sample& into) { return (*from)(into); });
}

pipeline once_numbers(std::uint64_t end) {
  return once_numbers(std::make_shared<numbers>(end));
}

std::shared_ptr<live_source> journaled_input(const std::string& at) {
  return feed_of(standard_input().journal(at));
}

TEST_CASE("once: a function's samples come once, in order, with ids, with and without a journal") {
  test::temporary_directory at;
  for (const bool journaled : {false, true}) {
    CAPTURE(journaled);
    auto data = once_numbers(10'000);
    const auto feed = feed_of(journaled ? data.journal(at.path()) : data);
    REQUIRE(feed->has_journal() == journaled);
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      REQUIRE(peek_when_there(*feed, i) == state::ready);
      REQUIRE(text(*feed, i) == std::to_string(i));
      feed->release_below(i / 2, 0, 1);
    }
    REQUIRE(peek_when_there(*feed, 10'000) == state::ended);
    REQUIRE(feed->peek(20'000) == state::ended);
    std::string id = "of ";
    feed->append_id(17, id);
    REQUIRE(id == "of numbers/17");
  }
}

TEST_CASE("once: nothing is read before it is wanted, and then only so far ahead") {
  const auto from = std::make_shared<numbers>(1'000'000);
  const auto feed = feed_of(once_numbers(from));
  REQUIRE(from->given.now() == 0);
  REQUIRE(peek_when_there(*feed, 10) == state::ready);
  // The thread stops as soon as it has read as far ahead as it may.
  constexpr std::uint64_t ahead = 4096;
  from->given.wait_for(11 + ahead);
  REQUIRE(peek_when_there(*feed, 100) == state::ready);
  from->given.wait_for(101 + ahead);
  REQUIRE(from->given.now() == 101 + ahead);
}

TEST_CASE("once: a restart at every record, over the same journal, loses and repeats none") {
  test::temporary_directory at;
  constexpr std::uint64_t all = 60;
  const auto from = std::make_shared<numbers>(all);
  const journal_options options{.file_bytes = 200};
  for (std::uint64_t i = 0; i < all; ++i) {
    CAPTURE(i);
    // As a snapshot before record i would.
    const auto feed = feed_of(once_numbers(from).journal(at.path(), options));
    feed->release_below(i, 0, 1);
    REQUIRE(peek_when_there(*feed, i) == state::ready);
    REQUIRE(text(*feed, i) == std::to_string(i));
  }
  const auto feed = feed_of(once_numbers(from).journal(at.path(), options));
  REQUIRE(peek_when_there(*feed, all) == state::ended);
  REQUIRE(text(*feed, all - 1) == std::to_string(all - 1));
}

TEST_CASE("once: a job that saved no snapshot begins again with the first record") {
  test::temporary_directory at;
  const auto from = std::make_shared<numbers>(100);
  {
    const auto feed = feed_of(once_numbers(from).journal(at.path()));
    REQUIRE(peek_when_there(*feed, 50) == state::ready);
  }
  const auto all = texts(*feed_of(once_numbers(from).journal(at.path())));
  REQUIRE(all.size() == 100);
  for (std::size_t i = 0; i < all.size(); ++i)
    REQUIRE(all[i] == std::to_string(i));
}

TEST_CASE("once: a snapshot of another journal, and records that were released, are refused") {
  test::temporary_directory at;
  const auto from = std::make_shared<numbers>(1000);
  const journal_options options{.file_bytes = 100};
  {
    const auto feed = feed_of(once_numbers(from).journal(at.path(), options));
    REQUIRE(peek_when_there(*feed, 999) == state::ready);
    feed->check_holds(0, 1000);
    REQUIRE(code_of([&] { feed->check_holds(0, 1001); }) == errc::mismatch);
    feed->release_below(500, 0, 1);
    REQUIRE(code_of([&] { feed->peek(499); }) == errc::not_found);
    REQUIRE(feed->peek(500) == state::ready);
    feed->check_holds(500, 1000);
    REQUIRE(code_of([&] { feed->check_holds(499, 1000); }) == errc::mismatch);
  }
  const auto feed = feed_of(once_numbers(from).journal(at.path(), options));
  const auto problem = problem_of([&] { feed->peek(0); }).value();
  REQUIRE(problem.code() == errc::not_found);
  REQUIRE(std::string{problem.what()}.find("released") != std::string::npos);
}

TEST_CASE("once: what the function throws comes out, and what came before stays good") {
  const auto feed = feed_of(once("numbers", [i = 0](sample& into) mutable {
    if (i == 5)
      throw std::runtime_error("the queue is gone");
    into.set("text", std::to_string(i++));
    return true;
  }));
  std::promise<void> changed;
  const auto stop = feed->on_change([&, told = false]() mutable {
    if (code_of([&] { feed->peek(5); }) && !std::exchange(told, true))
      changed.set_value();
  });
  feed->wait(5, never);
  for (int turn = 0; turn < 2; ++turn)
    check_error([&] { feed->peek(5); },
                {.code = errc::io, .stage = "once source \"numbers\"", .got = "the queue is gone"});
  REQUIRE(feed->peek(4) == state::ready);
  REQUIRE(text(*feed, 4) == "4");
  changed.get_future().wait();
  stop();
}

TEST_CASE("once: a destruction waits for the function, says so, and journals what it gives") {
  test::temporary_directory at;
  std::promise<void> called;
  std::promise<void> noticed;
  set_notice_handler([&](const std::string& text) {
    if (text.find("\"slow\"") != std::string::npos)
      noticed.set_value();
  });
  auto data = once("slow", [&, first = true](sample& into) mutable {
    if (!std::exchange(first, false))
      return false;
    called.set_value();
    noticed.get_future().wait();
    into.set("text", std::string_view{"late"});
    return true;
  });
  {
    const auto feed = feed_of(data.journal(at.path()));
    REQUIRE(feed->peek(0) == state::pending);
    called.get_future().wait();
  }
  set_notice_handler({});
  REQUIRE(texts(*feed_of(data.journal(at.path()))) == std::vector<std::string>{"late"});
}

TEST_CASE("once: of one source two feeds cannot read at a time") {
  test::temporary_directory at;
  const auto data = once_numbers(10);
  const auto first = feed_of(data);
  REQUIRE(peek_when_there(*first, 0) == state::ready);
  REQUIRE(code_of([&] { feed_of(data.journal(at.path()))->peek(0); }) == errc::invalid_argument);
}

TEST_CASE("once: a journal that is in use is refused") {
  test::temporary_directory at;
  const auto first = feed_of(once_numbers(1).journal(at.path()));
  REQUIRE(code_of([&] { feed_of(once_numbers(1).journal(at.path())); }) == errc::io);
}

TEST_CASE("once: a full disk is an error at the record that found no room") {
  test::temporary_directory at;
  const auto feed = feed_of(once("big", [i = 0](sample& into) mutable {
                              into.set("text", std::string(i++ == 3 ? 10'000 : 10, 'x'));
                              return true;
                            }).journal(at.path()));
  const test::file_size_limit full{5000};
  feed->wait(3, never);
  REQUIRE(code_of([&] { feed->peek(3); }) == errc::io);
  REQUIRE(feed->peek(2) == state::ready);
  REQUIRE(text(*feed, 2) == std::string(10, 'x'));
}

TEST_CASE("standard input: lines come as they are written, and listeners are told") {
  test::temporary_directory at;
  for (const bool journaled : {false, true}) {
    CAPTURE(journaled);
    test::pipe_pair pipe;
    const test::standard_input_from input{pipe.out()};
    const auto feed = journaled ? journaled_input(at.path()) : feed_of(standard_input());
    awaited_count changes;
    const auto stop = feed->on_change([&] { changes.add(); });
    REQUIRE(feed->peek(1) == state::pending);
    pipe.write("one\nt");
    changes.wait_for(1);
    REQUIRE(feed->peek(0) == state::ready);
    REQUIRE(feed->peek(1) == state::pending);
    pipe.write("wo\n");
    changes.wait_for(2);
    REQUIRE(text(*feed, 1) == "two");
    REQUIRE(feed->peek(2) == state::pending);
    pipe.write("no newline");
    pipe.close_in();
    changes.wait_for(3);
    REQUIRE(texts(*feed) == std::vector<std::string>{"one", "two", "no newline"});
    stop();
    const auto told = changes.now();
    REQUIRE(feed->peek(9) == state::ended);
    REQUIRE(changes.now() == told);
    std::string id;
    feed->append_id(2, id);
    REQUIRE(id == "stdin/2");
  }
}

TEST_CASE(
    "standard input: a feed ends while nobody writes, and another continues, in half a line") {
  test::temporary_directory at;
  test::pipe_pair pipe;
  const test::standard_input_from input{pipe.out()};
  for (int i = 0; i < 10; ++i) {
    pipe.write(std::to_string(i) + "\nhalf of ");
    const auto feed = journaled_input(at.path());
    REQUIRE(peek_when_there(*feed, static_cast<std::uint64_t>(i)) == state::ready);
    REQUIRE(feed->peek(static_cast<std::uint64_t>(i) + 1) == state::pending);
  }
  pipe.close_in();
  const auto all = texts(*journaled_input(at.path()));
  REQUIRE(all.size() == 11);
  REQUIRE(all[0] == "0");
  for (std::size_t i = 1; i < 10; ++i)
    REQUIRE(all[i] == "half of " + std::to_string(i));
  REQUIRE(all[10] == "half of ");
}

TEST_CASE("standard input: after an end without newline a later process begins a line") {
  test::temporary_directory at;
  for (const std::string last : {"first", "second"}) {
    test::pipe_pair pipe;
    const test::standard_input_from input{pipe.out()};
    pipe.write(last);
    pipe.close_in();
    REQUIRE(texts(*journaled_input(at.path())).back() == last);
  }
  test::pipe_pair pipe;
  pipe.close_in();
  const test::standard_input_from input{pipe.out()};
  REQUIRE(texts(*journaled_input(at.path())) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("standard input: a file is read to its end") {
  test::temporary_directory at;
  test::tar_writer::write(at / "text", "one\ntwo");
  const auto file = file_descriptor::open(at / "text");
  const test::standard_input_from input{file.get()};
  REQUIRE(texts(*journaled_input(at / "journal")) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("standard input: two sources of one process are refused, one after the other is fine") {
  test::pipe_pair pipe;
  const test::standard_input_from input{pipe.out()};
  pipe.write("a\n");
  auto first = standard_input();
  REQUIRE(peek_when_there(*feed_of(first), 0) == state::ready);
  const auto second = feed_of(standard_input());
  REQUIRE(code_of([&] { second->peek(0); }) == errc::invalid_argument);
  first = count(1);
  pipe.write("b\n");
  REQUIRE(peek_when_there(*second, 0) == state::ready);
  REQUIRE(text(*second, 0) == "b");
}

TEST_CASE(
    "standard input: a full disk is an error, and another feed continues when there is room") {
  test::temporary_directory at;
  test::pipe_pair pipe;
  const test::standard_input_from input{pipe.out()};
  for (int i = 0; i < 1000; ++i)
    pipe.write("line\n");
  pipe.close_in();
  {
    const auto feed = journaled_input(at.path());
    const test::file_size_limit full{4096};
    feed->wait(999, never);
    check_error([&] { feed->peek(999); },
                {.code = errc::io, .got_has = "File too large (no file of this process"});
    REQUIRE(feed->peek(4096 / 5 - 1) == state::ready);
    REQUIRE(text(*feed, 10) == "line");
  }
  REQUIRE(texts(*journaled_input(at.path())) == std::vector<std::string>(1000, "line"));
}

TEST_CASE("journal: where the journal lies is not part of a pipeline") {
  test::temporary_directory at;
  const auto plain = standard_input().batch(4);
  REQUIRE(plain == plain.journal(at.path()));
  REQUIRE(standard_input().root().feed->facts()
          == standard_input().journal(at.path()).root().feed->facts());
  REQUIRE(feed_of(once("a", [](sample&) { return false; }))->facts().digest
          != feed_of(once("b", [](sample&) { return false; }))->facts().digest);
}

TEST_CASE("journal: each once source has its folder, one that stands twice in a pipeline has one") {
  test::temporary_directory at;
  auto make = [](const std::string& name) { return once(name, [](sample&) { return false; }); };
  const auto twice = make("a b/c@2");
  const auto joined = concat({twice, make("q"), count(3), make("q"), twice}).journal(at / "x/y");
  REQUIRE_FALSE(std::filesystem::exists(at / "x"));
  std::vector<std::shared_ptr<live_source>> feeds;
  for_each_operator(joined.root(), [&](const operator_node& x) {
    if (x.feed)
      feeds.push_back(x.feed->get());
  });
  REQUIRE(feeds.size() == 4);
  REQUIRE(feeds[0] == feeds[3]);
  for (const char* folder : {"a%20b%2fc-0", "q-1", "q-2"})
    REQUIRE(std::filesystem::exists(at / "x/y/" + folder));
}

TEST_CASE("journal: wrong calls are refused") {
  const auto data = standard_input();
  const auto wrong = errc::invalid_argument;
  REQUIRE(code_of([&] { (void)data.journal(""); }) == wrong);
  const journal_options empty_files{.file_bytes = 0};
  REQUIRE(code_of([&] { (void)data.journal("x", empty_files); }) == wrong);
  test::temporary_directory at;
  REQUIRE(code_of([&] { feed_of(data.journal(at / "a").journal(at / "b")); }) == wrong);
  REQUIRE(code_of([] { once("", [](sample&) { return true; }); }) == wrong);
  REQUIRE(code_of([] { once("x", {}); }) == wrong);
}

} // namespace
} // namespace leat::once_test
