#include "actors/save_queue.hpp"
#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/job_parts.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_directory.hpp"

// Saves in the caller's thread, and in the background by an actor of a host of its own.
namespace leat::save_queue_test {
namespace {

/// A queue of its own for each way to save.
class queues {
public:
  queues() : at_(), host_(1) { std::ofstream{at_ / "file"} << "no directory"; }

  save_queue& make(bool in_background) {
    queue_.emplace(in_background ? host_function{[this]() -> actor_host& { return host_; }}
                                 : host_function{},
                   metrics_);
    return *queue_;
  }
  save_request request(std::uint64_t step, const std::string& directory = "sets",
                       std::uint64_t keep = 1) const {
    return {at_ / directory, std::make_shared<snapshot>(test::part_of(0, step)), keep};
  }
  std::size_t files() const {
    std::filesystem::directory_iterator all{at_ / "sets"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  std::uint64_t newest() const {
    return snapshot_store{at_ / "sets"}.newest(false).parts.at(0).step;
  }
  /// Of the last snapshot, as the loader tells.
  std::uint64_t bytes() const { return metrics_->snapshot_bytes.get(); }
  std::string path(const std::string& name) const { return at_ / name; }

private:
  test::temporary_directory at_;
  actor_host host_;
  std::shared_ptr<job_metrics> metrics_ = std::make_shared<job_metrics>();
  std::optional<save_queue> queue_;
};

TEST_CASE("save_queue: saves are done in order, and as many sets stay as were asked for") {
  for (const bool in_background : {false, true}) {
    CAPTURE(in_background);
    queues x;
    auto& uut = x.make(in_background);
    for (std::uint64_t step = 1; step <= 6; ++step)
      uut.save(x.request(step, "sets", 3), {});
    uut.wait_for_all();
    uut.check();
    CHECK(x.newest() == 6);
    CHECK(x.files() == 3);
    CHECK(x.bytes() == encode(*x.request(6).part).size());
  }
}

TEST_CASE("save_queue: in the caller's thread a save that fails says so at once") {
  queues x;
  auto& uut = x.make(false);
  check_refusal([&] { uut.save(x.request(1, "file"), {}); }, errc::io);
  uut.save(x.request(2), {}); // it was told once
  CHECK(x.newest() == 2);
}

TEST_CASE("save_queue: in the background the first error is told, once, by the next call") {
  queues x;
  auto& uut = x.make(true);
  std::ofstream{x.path("other")} << "no directory";
  // The actor lets go of a stored part when all others are on their way.
  std::promise<void> all_asked;
  auto first = x.request(1);
  first.part = {new snapshot{*first.part}, [&](const snapshot* part) {
                  all_asked.get_future().wait();
                  delete part;
                }};
  uut.save(std::move(first), {});
  uut.save(x.request(1, "file"), {});
  uut.save(x.request(1, "other"), {});
  all_asked.set_value();
  uut.wait_for_all();
  const auto problem = check_refusal([&] { uut.check(); }, errc::io);
  CHECK(problem.details().file.starts_with(x.path("file")));
  uut.check();
  uut.save(x.request(3), {});
  uut.wait_for_all();
  uut.check();
  CHECK(x.newest() == 3);
}

TEST_CASE("save_queue: its end tells the error that nobody asked for, once") {
  queues x;
  heard_notices told;
  const auto fail = [&](save_queue& uut) {
    uut.save(x.request(1, "file"), {});
    uut.wait_for_all();
  };
  auto& unasked = x.make(true);
  fail(unasked);
  unasked.end();
  CHECK(told.texts().empty()); // it may be asked still
  auto& asked = x.make(true);
  REQUIRE(told.number() == 1);
  CHECK(told.texts().front().find("a snapshot was not saved: ") != std::string::npos);
  CHECK(told.texts().front().find(x.path("file")) != std::string::npos);
  fail(asked);
  CHECK(problem_of([&] { asked.check(); }));
  x.make(false);
  CHECK(told.number() == 1);
}

TEST_CASE("save_queue: an error that may never be asked for is told as soon as it is there") {
  queues x;
  heard_notices told;
  auto& uut = x.make(true);
  const auto fail = [&] {
    uut.save(x.request(1, "file"), {});
    uut.wait_for_all();
  };
  uut.set_unasked(true);
  CHECK(told.texts().empty());
  fail();
  CHECK(told.number() == 1);
  CHECK(problem_of([&] { uut.check(); })); // it is asked for after all
  uut.set_unasked(false);
  fail();
  CHECK(told.number() == 1);
  uut.set_unasked(true);
  CHECK(told.number() == 2);
  uut.set_unasked(true);
  x.make(true);
  CHECK(told.number() == 2);
}

TEST_CASE("save_queue: once it has ended, what was on its way is stored, and nothing begins") {
  for (const bool in_background : {false, true}) {
    CAPTURE(in_background);
    queues x;
    auto& uut = x.make(in_background);
    uut.save(x.request(1), {});
    uut.save(x.request(2), {});
    uut.end();
    CHECK(x.newest() == 2);
    CHECK(code_of([&] { uut.save(x.request(3), {}); }) == errc::shut_down);
    CHECK(x.newest() == 2);
    uut.wait_for_all();
    uut.end();
    uut.check();
  }
}

TEST_CASE("save_queue: its end waits for what a request holds") {
  queues x;
  for (int i = 0; i < 100; ++i) {
    auto request = x.request(1);
    bool is_gone = false;
    request.part = {new snapshot{*request.part}, [&](const snapshot* part) {
                      is_gone = true;
                      delete part;
                    }};
    auto& uut = x.make(true);
    uut.save(std::move(request), {});
    uut.end();
    REQUIRE(is_gone);
  }
}

TEST_CASE("save_queue: without a host there is an error, and the next save has another try") {
  queues x;
  actor_host host{1};
  bool has_threads = false;
  save_queue uut{[&]() -> actor_host& {
                   if (!has_threads)
                     throw error(errc::no_resources, {.stage = "save", .got = "no thread"});
                   return host;
                 },
                 std::make_shared<job_metrics>()};
  for (std::uint64_t step = 1; step <= 3; ++step) // more than may be on their way
    CHECK(code_of([&] { uut.save(x.request(step), {}); }) == errc::no_resources);
  uut.wait_for_all();
  has_threads = true;
  uut.save(x.request(4), {});
  uut.wait_for_all();
  CHECK(x.newest() == 4);
}

} // namespace
} // namespace leat::save_queue_test
