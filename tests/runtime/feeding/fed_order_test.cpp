#include "runtime/base/call_record.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/feeding/feed_hall.hpp"
#include "runtime/feeding/feed_node.hpp"
#include "runtime/feeding/remote_feed.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/job/starting_point.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/sources/live/once_input.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/once.hpp>

#include <thread>

// Iterators that look at a feed's records, and probe them, come to what they come to over the same
// records in their own process; and so do those that resume.
namespace leat::fed_order_test {
namespace {

std::function<bool(sample&)> numbers(std::uint64_t end) {
  return [end, next = std::uint64_t{0}](sample& x) mutable {
    if (next == end)
      return false;
    x.set("text", std::string(next % 100, 'x') + std::to_string(next));
    ++next;
    return true;
  };
}

pipeline job_over(const pipeline& records) {
  return records
      .filter({.name = "fed_some@1",
               .make = [] { return [](sample& x) { return x.text("text").size() % 5 != 0; }; }})
      .shuffle_buffer(40, 3)
      .batch(12, {.lanes = 12, .end = epoch_end::mask});
}

rank_job job_of(const pipeline& data) {
  auto plan = plan_without_layout(data);
  rank_job job;
  job.facts = describe(data, plan.shape.lanes);
  job.encode = snapshot_encoder{job.facts};
  job.records = std::make_shared<journal_retention>(plan.samples->feeds, plan.shape.lanes, 0, 1);
  job.plan = std::make_shared<const job_plan>(std::move(plan));
  return job;
}

/// Learns the fields of a batch, if they are not known, and moves on by so many batches.
void move(rank_job& job, std::uint64_t batches) {
  epoch_end_agreement ends{job.plan->shape, 1, all_gather{}};
  skip_batches(job, batches, ends, [&] {
    const doing told{std::make_shared<worker_record>(), std::make_shared<call_record>()};
    if (job.has_to_learn_fields())
      job.learn_fields(told);
    return told;
  });
}

/// What lanes are at, and the fields, without which records served it.
std::string text_of(rank_job& job) {
  auto part = job.snapshot_at(job.at);
  part.feeds.clear();
  part.pipeline = {};
  return job.encode(part, part.lanes);
}

/// A rank's hall and a feed that serves it.
class served_job {
public:
  explicit served_job(const std::string& journal, std::uint64_t records)
      : fed_(with_stations(job_over(feed("queue")), {.window = 100'000})),
        hall_(feed_hall_config{.guard = {.at = *parse_ip("127.0.0.1")}, .stations = fed_.stations}),
        job(job_of(fed_.data)), node_({.name = "queue",
                                       .join = "127.0.0.1:" + std::to_string(hall_.port()),
                                       .journal = journal,
                                       .input = function_samples("queue", numbers(records)),
                                       .stop = stop_.get_token(),
                                       .log = [](const std::string&) {}},
                                      [] { return std::vector<std::string>{}; }),
        thread_([this] { node_.run(); }) {}
  ~served_job() {
    stop_.request_stop();
    thread_.join();
  }

private:
  std::stop_source stop_;
  fed_pipeline fed_;
  feed_hall hall_;

public:
  rank_job job;

private:
  feed_node node_;
  std::thread thread_;
};

TEST_CASE("feeds: iterators stand where those over the same records in one process do") {
  const test::temporary_directory at;
  constexpr std::uint64_t records = 3000;
  const auto data = job_over(once("queue@1", numbers(records)).journal(at / "own"));
  auto alone = job_of(data);
  std::string part;
  {
    served_job x{at / "journal", records};
    for (const std::uint64_t batches : {1, 30, 70}) {
      move(alone, batches);
      move(x.job, batches);
      alone.encode = x.job.encode; // their pipelines differ in the source
      REQUIRE(text_of(x.job) == text_of(alone));
    }
    part = x.job.encoded_at(x.job.at);
    REQUIRE(decode(part, "part").feeds.size() == 1);
    move(x.job, 1'000); // to the end, so that the journal has all
  }
  served_job again{at / "journal", 0};
  resume(again.job, {decode(part, "part")}, true, {});
  move(alone, 20);
  move(again.job, 20);
  CHECK(text_of(again.job) == text_of(alone));
}

} // namespace
} // namespace leat::fed_order_test
