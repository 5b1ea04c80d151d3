#include "tests/support/drain.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"

#include <leat/leat.hpp>

// Every function that a pipeline calls may hang. With workers, next() says which one; in the
// caller's own thread, another thread does.
namespace leat::stuck_test {
namespace {

using namespace std::chrono_literals;

/// A function that hangs while the barrier is closed.
class barrier {
public:
  void pass() { open_.wait(false); }
  void close() { open_ = false; }
  void open() {
    open_ = true;
    open_.notify_all();
  }

private:
  std::atomic<bool> open_ = true;
};

/// What on_stuck was told.
class report {
public:
  void tell(const error& x) {
    std::lock_guard lock{mutex_};
    got_ = x;
    changed_.notify_all();
  }
  void forget() {
    std::lock_guard lock{mutex_};
    got_.reset();
  }
  /// Only for this stage: on a busy machine others may seem to hang for a while, too.
  error wait(const std::string& stage) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return got_ && got_->details().stage == stage; });
    return *got_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<error> got_;
};

class gated_reader final : public sequential_reader {
public:
  explicit gated_reader(barrier& at) : at_(at) {}

  bool next(sample& into) override {
    if (n_ == 40)
      return false;
    at_.pass();
    into.set("n", n_++);
    return true;
  }
  std::optional<std::string> save() const override { return std::to_string(n_); }
  void load(const std::string& state) override {
    at_.pass();
    n_ = std::stoull(state);
  }

private:
  barrier& at_;
  std::uint64_t n_ = 0;
};

struct hanging {
  std::string stage;
  pipeline data;
};

batch_options whole() {
  return {.end = epoch_end::mask};
}

/// Functions that iterators call.
std::vector<hanging> of_iterators(barrier& at) {
  const filter_stage by_id{.name = "by_id@1", .of_id = [&at](std::string_view) {
                             at.pass();
                             return true;
                           }};
  const scan_stage sum{.name = "sum@1",
                       .make =
                           [] {
                             return scan_function{
                                 .look = [](sample&) { return std::string{"x"}; },
                                 .apply = [](sample& s, std::string_view) { s.set("b", "y"); }};
                           },
                       .step =
                           [&at](std::string&, std::string_view) {
                             at.pass();
                             return std::string{};
                           }};
  return {
      {"read gated",
       sequential("gated@1", 2, [&at](std::uint64_t) { return std::make_unique<gated_reader>(at); })
           .batch(4, whole())},
      {"read open", sequential("open@1", 2,
                               [&at](std::uint64_t) {
                                 static barrier always;
                                 at.pass();
                                 return std::make_unique<gated_reader>(always);
                               })
                        .batch(4, whole())},
      {"filter by_id@1", numbers(80).filter(by_id).shuffle_buffer(8).batch(4, whole())},
      {"scan sum@1", numbers(80).scan(sum).batch(4, whole())}};
}

/// Functions that make samples.
std::vector<hanging> of_samples(barrier& at) {
  const auto keep = probing("keep@1", [&at](sample&) {
    at.pass();
    return true;
  });
  return {{"read", from_function("numbers@1", 80,
                                 [&at](std::uint64_t i, sample& s) {
                                   at.pass();
                                   s.set("n", i);
                                 })
                       .batch(4)},
          {"map@1", numbers(80).map("map@1", [&at](sample&, context&) { at.pass(); }).batch(4)},
          {"map@1", numbers(80)
                        .shuffle_buffer(8)
                        .map("map@1", [&at](sample&, context&) { at.pass(); })
                        .batch(4, whole())},
          {"filter keep@1", numbers(80).filter(keep).batch(4, whole())}};
}

std::vector<hanging> all(barrier& at) {
  auto result = of_iterators(at);
  for (auto& x : of_samples(at))
    result.push_back(std::move(x));
  return result;
}

TEST_CASE("stuck: with workers next() names what hangs, in iterators as in samples") {
  constexpr int tries = 20; // on a busy machine others may seem to hang, or all is read in time
  barrier at;
  for (const auto& [stage, data] : all(at)) {
    CAPTURE(stage, to_string(data));
    std::optional<error> problem;
    for (int i = 0; i < tries && (!problem || problem->details().stage != stage); ++i) {
      at.open();
      loader x{data, {.workers = 2, .stuck_after = 50ms}};
      at.close();
      problem = problem_of([&] { drain(x); });
      at.open();
      REQUIRE(problem);
      CHECK(code_of([&] { x.next(); }) == problem->code());
    }
    CHECK(problem->code() == errc::stuck);
    CHECK(problem->details().stage == stage);
    CHECK_FALSE(problem->details().sample.empty());
  }
}

/// Runs it in a thread with the barrier closed; returns what on_stuck is told about the stage.
error told(barrier& at, report& to, const std::string& stage, const std::function<void()>& run) {
  at.close();
  std::thread caller{run};
  const auto got = to.wait(stage);
  at.open();
  caller.join();
  return got;
}

TEST_CASE("stuck: a function that hangs on the very first sample is named") {
  barrier at;
  for (const auto& [stage, data] : all(at))
    for (const std::size_t workers : {0, 1}) {
      CAPTURE(stage, to_string(data), workers);
      report to;
      const auto got = told(at, to, stage, [&, of = &data] {
        loader x{*of,
                 {.workers = workers, .stuck_after = 30ms, .on_stuck = [&](const error& problem) {
                    to.tell(problem);
                  }}};
      });
      CHECK(got.code() == errc::stuck);
      CHECK(got.details().got == "no return in the caller's thread");
    }
}

/// A source without ids.
class nameless final : public source {
public:
  explicit nameless(barrier& at) : at_(at) {}

  std::uint64_t size() const override { return 80; }
  void read(std::uint64_t i, sample& into) const override {
    at_.pass();
    into.set("n", i);
  }
  void append_id(std::uint64_t, std::string& to) const override {
    to += "half an id";
    throw std::runtime_error("no id");
  }
  std::string name() const override { return "nameless"; }

private:
  barrier& at_;
};

TEST_CASE("stuck: a sample whose id cannot be made is named by its position") {
  barrier at;
  const auto data = indexed("nameless@1", std::make_shared<nameless>(at)).batch(4);
  report to;
  const auto got = told(at, to, "read", [&] {
    loader x{data, {.workers = 0, .stuck_after = 30ms, .on_stuck = [&](const error& problem) {
                      to.tell(problem);
                    }}};
  });
  CHECK(got.details().sample == "at position 0");
  loader x{data, {.workers = 2, .stuck_after = 30ms}};
  at.close();
  const auto problem = problem_of([&] { drain(x); });
  at.open();
  REQUIRE(problem);
  CHECK(problem->code() == errc::stuck);
  CHECK(problem->details().sample.starts_with("at position "));
}

TEST_CASE("stuck: handlers that throw end nothing") {
  barrier at;
  const auto data = of_samples(at).front().data;
  const auto hang = [&](const std::function<void(const error&)>& on_stuck, heard_notices& heard,
                        const std::string& part) {
    at.close();
    std::thread caller{[&] {
      loader x{data, {.workers = 0, .stuck_after = 30ms, .on_stuck = on_stuck}};
    }};
    heard.wait(part);
    at.open();
    caller.join();
  };
  for (const bool throws : {false, true}) {
    CAPTURE(throws);
    heard_notices heard{[throws] {
      if (throws)
        throw std::runtime_error("no notices");
    }};
    hang([](const error&) { throw std::runtime_error("mine"); }, heard, "on_stuck threw: mine");
    hang({}, heard, "no return in the caller's thread");
  }
}

TEST_CASE("stuck: without workers a function that hangs in next() or in a seek is named") {
  barrier at;
  for (const auto& [stage, data] : all(at)) {
    CAPTURE(stage, to_string(data));
    report to;
    const loader_options options{
        .workers = 0, .stuck_after = 30ms, .on_stuck = [&](auto& problem) { to.tell(problem); }};
    loader x{data, options};
    told(at, to, stage, [&] { drain(x); });
    to.forget();
    loader y{data, options};
    if (!y.batches_per_epoch() && stage != "map@1") // else nothing is called for what is left out
      told(at, to, stage, [&] { y.skip_first_batches(5); });
  }
}

TEST_CASE("stuck: what hangs after a rewind is named") {
  constexpr int tries = 20; // on a busy machine others may seem to hang, too
  barrier at;
  for (const auto& [stage, data] : of_iterators(at)) {
    CAPTURE(stage, to_string(data));
    std::optional<error> problem;
    for (int i = 0; i < tries && (!problem || problem->details().stage != stage); ++i) {
      at.open();
      loader x{data, {.workers = 2, .stuck_after = 50ms}};
      problem = problem_of([&] {
        (void)x.next();
        x.rewind();
        at.close();
        drain(x);
      });
      at.open();
    }
    REQUIRE(problem);
    CHECK(problem->details().stage == stage);
    report to;
    loader y{data, {.workers = 0, .stuck_after = 30ms, .on_stuck = [&](auto& e) { to.tell(e); }}};
    (void)y.next();
    y.rewind();
    to.forget();
    told(at, to, stage, [&] { drain(y); });
  }
}

TEST_CASE("stuck: a reader that hangs where a job resumes is named") {
  barrier at;
  const auto data = of_iterators(at).front().data;
  std::string state;
  {
    loader x{data, {.workers = 0}};
    (void)x.next();
    state = x.next()->snapshot();
  }
  report to;
  loader x{data, {.workers = 0, .stuck_after = 30ms, .on_stuck = [&](auto& e) { to.tell(e); }}};
  x.restore_parts({state});
  told(at, to, "read gated", [&] { (void)x.next(); });
}

TEST_CASE("stuck: a loader whose function never returns ends, and says what it abandons") {
  const auto at = std::make_shared<barrier>();
  const auto data = numbers(80).map("map@1", [at](sample&, context&) { at->pass(); }).batch(4);
  const bool has_runtime = GENERATE(false, true);
  const bool opens = GENERATE(false, true);
  CAPTURE(has_runtime, opens);
  heard_notices heard;
  auto own = has_runtime ? std::make_shared<runtime>() : nullptr;
  {
    loader x{data, {.workers = 2, .stuck_after = 50ms, .runtime = own}};
    at->close(); // the first sample has been made
    CHECK(code_of([&] { x.next(); }) == errc::stuck);
  }
  heard.wait("abandoned, with its thread, as it does not return: ");
  heard.wait("map@1");
  if (own)
    own->shutdown();
  // What was abandoned stays whole, should it return after all.
  if (opens)
    at->open();
  // Others are as they were.
  loader y{numbers(80).batch(4), {.workers = 2}};
  CHECK(y.next());
}

TEST_CASE("stuck: what hangs in the iterators is abandoned, too") {
  const auto at = std::make_shared<barrier>();
  const filter_stage by_id{.name = "by_id@1", .of_id = [at](std::string_view) {
                             at->pass();
                             return true;
                           }};
  heard_notices heard;
  {
    loader x{numbers(80).filter(by_id).batch(4, whole()), {.workers = 2, .stuck_after = 50ms}};
    at->close();
    REQUIRE(problem_of([&] { drain(x); }));
  }
  heard.wait("abandoned, with its thread, as it does not return: ");
  heard.wait("filter by_id@1");
}

TEST_CASE("stuck: without workers a caller that gives up in mid-batch gets the same batch later") {
  const auto make = [](std::atomic<int>& made) {
    return numbers(80)
        .filter(probing("keep@1", [&made](sample&) { return ++made > 0; }))
        .map("map@1", [&made](sample&, context&) { ++made; })
        .batch(40, whole());
  };
  std::atomic<int> made = 0;
  std::vector<std::vector<std::string>> due;
  {
    loader x{make(made), {.workers = 0}};
    while (const auto batch = x.next())
      due.push_back(batch->ids());
  }
  const auto whole_job = made.load();
  made = 0;
  std::vector<std::vector<std::string>> got;
  std::size_t asked = 0;
  std::size_t given_up = 0;
  loader x{make(made), {.workers = 0}};
  const patience impatient{[&] { return ++asked % 3 != 0; }, 0ms};
  for (bool has_ended = false; !has_ended;)
    try {
      const auto batch = x.next();
      has_ended = !batch;
      if (batch)
        got.push_back(batch->ids());
    } catch (const error& problem) {
      REQUIRE(problem.code() == errc::interrupted);
      ++given_up;
    }
  CHECK(got == due);
  CHECK(made == whole_job); // nothing is made twice
  CHECK(given_up > due.size());
}

TEST_CASE("stuck: a limit of 0 waits, and work that makes progress is not stuck") {
  barrier at;
  for (const auto& [stage, data] : all(at))
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(stage, to_string(data), workers);
      for (const auto limit : {0ms, 10'000ms}) {
        loader x{data, {.workers = workers, .stuck_after = limit, .on_stuck = [](auto&) {
                          FAIL("told of something that went on");
                        }}};
        std::size_t n = 0;
        while (x.next())
          ++n;
        CHECK(n == 20);
      }
    }
}

} // namespace
} // namespace leat::stuck_test
