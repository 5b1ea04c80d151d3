#include "tests/support/heard_notices.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::feed_loader_test {
namespace {

using test::temporary_directory;

constexpr std::uint64_t all_records = 3000;

std::function<bool(sample&)> numbers(std::uint64_t end) {
  return [end, next = std::uint64_t{0}](sample& x) mutable {
    if (next == end)
      return false;
    x.set("value", static_cast<std::int64_t>(next));
    x.set("text", std::string(next % 100, 'x') + std::to_string(next));
    ++next;
    return true;
  };
}

pipeline job_over(const pipeline& records) {
  return records
      .filter({.name = "feed_some@1",
               .make = [] { return [](sample& x) { return x.text("text").size() % 5 != 0; }; }})
      .shuffle_buffer(40, 3)
      .map({.name = "feed_random@1",
            .make =
                [] {
                  return [](sample& x, context& c) {
                    x.set("value", static_cast<std::int64_t>(c.rng()() % 1'000'000));
                  };
                }})
      .batch(12, {.lanes = 12, .end = epoch_end::mask});
}

/// Digest and content of each batch.
using batches = std::vector<std::pair<hash128, std::vector<hash128>>>;

batches batches_of(loader& from, std::size_t most = SIZE_MAX) {
  batches all;
  while (all.size() < most) {
    const auto batch = from.next();
    if (!batch)
      break;
    const auto hashes = batch->content_hashes();
    all.emplace_back(batch->digest(), std::vector<hash128>{hashes.begin(), hashes.end()});
  }
  return all;
}

loader_options fed(std::size_t workers) {
  loader_options x;
  x.workers = workers;
  x.hash_pixels = true;
  x.feeds_at = "127.0.0.1:0";
  return x;
}

/// Where the last loader listens for feeds.
std::string place_in(heard_notices& heard) {
  const std::string before = "feeds join at ";
  std::string place;
  for (const auto& x : heard.texts())
    if (const auto at = x.find(before); at != x.npos)
      place = x.substr(at + before.size());
  REQUIRE_FALSE(place.empty());
  return place;
}

/// A feed in threads of this process, as long as it lives.
class serving {
public:
  explicit serving(feed_options x) {
    x.name = "queue";
    x.stop = stop_.get_token();
    thread_ = std::thread{[this, x] {
      try {
        run_feed(x);
      } catch (const error& problem) {
        failure = problem.what();
      }
    }};
  }
  ~serving() { end(); }
  void end() {
    stop_.request_stop();
    wait();
  }
  void wait() {
    if (thread_.joinable())
      thread_.join();
  }

  std::string failure;

private:
  std::stop_source stop_;
  std::thread thread_;
};

batches expected() {
  loader alone{job_over(once("queue@1", numbers(all_records))),
               {.workers = 1, .hash_pixels = true}};
  return batches_of(alone);
}

TEST_CASE("a fed loader hands over what one does that reads the source itself") {
  heard_notices heard;
  const std::size_t workers = GENERATE(0U, 1U, 3U);
  CAPTURE(workers);
  std::optional<loader> job;
  job.emplace(job_over(feed("queue")), fed(workers));
  serving source{{.join = place_in(heard), .next = numbers(all_records)}};
  CHECK(batches_of(*job) == expected());
  job.reset();
  source.wait(); // by itself
  CHECK(source.failure.empty());
}

TEST_CASE("statistics say what a feed has given, where it is, and how far the rank has come") {
  heard_notices heard;
  const std::size_t workers = GENERATE(0U, 2U);
  CAPTURE(workers);
  std::optional<loader> job;
  job.emplace(job_over(feed("queue")), fed(workers));
  REQUIRE(job->stats().feeds.size() == 1);
  CHECK(job->stats().feeds[0].at.empty());
  CHECK(job->stats().feeds[0].records_read == 0);
  serving source{{.join = place_in(heard), .next = numbers(all_records)}};
  while (job->next()) {
  }
  const auto had = job->stats().feeds.at(0);
  CHECK(had.name == "queue");
  CHECK(had.at.starts_with("127.0.0.1:"));
  CHECK(had.has_ended);
  CHECK_FALSE(had.has_journal);
  CHECK(had.records_read == all_records);
  CHECK(had.reached == all_records);
  CHECK(had.lag == 0);
  CHECK(had.records_taken >= all_records); // those from which fields are learned count again
  CHECK(had.records_received >= all_records);
  CHECK(had.bytes_received > all_records);
  CHECK(had.starved.count() > 0);
  CHECK(had.waited >= had.fetching);
  job.reset();
  source.wait();
  loader alone{job_over(once("queue@1", numbers(100))), {.workers = 1}};
  CHECK(alone.stats().feeds.empty());
}

TEST_CASE("a job resumes from a snapshot with the journal of its feed, and a feed may come late") {
  heard_notices heard;
  const temporary_directory at;
  const auto all = expected();
  {
    loader job{job_over(feed("queue")), fed(2)};
    serving source{
        {.join = place_in(heard), .next = numbers(all_records), .journal = at / "journal"}};
    CHECK(batches_of(job, 50) == batches{all.begin(), all.begin() + 50});
    job.save(at / "sets");
    job.wait_saved();
    heard.wait("the source has ended after 3000 records"); // it is read ahead
  }
  loader job{job_over(feed("queue")), fed(2)};
  REQUIRE(job.restore(at / "sets"));
  const auto place = place_in(heard);
  serving source{{.join = place, .next = numbers(0), .journal = at / "journal"}};
  const auto rest = batches_of(job, 30);
  CHECK(rest == batches{all.begin() + 50, all.begin() + 80});
}

TEST_CASE("a loader whose feed is gone can be interrupted, and ends") {
  heard_notices heard;
  const temporary_directory at;
  const std::size_t workers = GENERATE(0U, 2U);
  CAPTURE(workers);
  loader job{job_over(feed("queue")), fed(workers)};
  {
    serving source{
        {.join = place_in(heard), .next = numbers(1'000'000), .journal = at / "journal"}};
    REQUIRE(job.next());
  }
  std::thread interrupts{[&] { job.interrupt(); }};
  CHECK(code_of([&] {
          while (job.next()) {
          }
        })
        == errc::interrupted);
  interrupts.join();
}

TEST_CASE("without a place for feeds a loader says what it needs, and a snapshot needs a journal") {
  loader nowhere{job_over(feed("queue")), {.workers = 1}};
  CHECK(code_of([&] { nowhere.next(); }) == errc::invalid_argument);
  heard_notices heard;
  loader job{job_over(feed("queue")), fed(1)};
  serving source{{.join = place_in(heard), .next = numbers(all_records)}};
  REQUIRE(job.next());
  CHECK(code_of([&] { job.snapshot(); }) == errc::invalid_argument);
}

} // namespace
} // namespace leat::feed_loader_test
