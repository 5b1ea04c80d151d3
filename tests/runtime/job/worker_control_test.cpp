#include "runtime/job/worker_control.hpp"
#include "tests/support/test.hpp"

namespace leat::worker_control_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A job whose trainer takes `train` for a batch, whose workers take `make`, and whose iterators
/// let no batch come sooner than `iterate` after the one before. While one of them is the slowest,
/// all others wait.
struct simulated_job {
  milliseconds train;
  milliseconds make;
  milliseconds iterate{0};
  std::size_t most = 16;

  worker_control control{most};
  worker_measurement now = {};

  std::size_t run(int batches) {
    for (int i = 0; i < batches; ++i) {
      now.most = most;
      if (control.ends_window(now.now))
        control.judge(now);
      const nanoseconds of_workers = nanoseconds{make} / static_cast<long>(control.workers());
      const auto period = std::max({nanoseconds{train}, of_workers, nanoseconds{iterate}});
      now.now += period;
      now.waited += period - train;
      now.busy += make;
    }
    return control.workers();
  }
};

TEST_CASE("a trainer that always waits gets all workers that there may be") {
  simulated_job job{milliseconds{1}, milliseconds{1000}};
  REQUIRE(job.run(1) == 16);
  REQUIRE(job.run(1000) == 16);
}

TEST_CASE("workers that are too many go, as long as the trainer does not wait") {
  simulated_job job{milliseconds{100}, milliseconds{310}}; // 4 would be busy for 78 percent
  REQUIRE(job.run(1000) == 5);
  REQUIRE(job.run(1000) == 5);
}

TEST_CASE("one worker stays where hardly any is needed") {
  simulated_job job{milliseconds{100}, milliseconds{10}};
  REQUIRE(job.run(2000) == 1);
}

TEST_CASE("workers come back where the work gets more, and then stay") {
  simulated_job job{milliseconds{100}, milliseconds{50}};
  REQUIRE(job.run(2000) == 1);
  job.make = milliseconds{900};
  const auto many = job.run(100);
  REQUIRE(many >= 9);
  REQUIRE(job.now.waited > nanoseconds{0});
  job.run(2000);
  const auto waited = job.now.waited;
  REQUIRE(job.run(2000) >= 9);
  REQUIRE(job.now.waited == waited);
}

TEST_CASE("a number of workers for which the trainer waited is not tried again") {
  simulated_job job{milliseconds{100}, milliseconds{50}};
  REQUIRE(job.run(2000) == 1);
  job.make = milliseconds{900};
  REQUIRE(job.run(100) >= 9); // the trainer waited for 8
  job.make = milliseconds{50};
  REQUIRE(job.run(4000) == 9);
}

TEST_CASE("what iterators hold up gets no more workers") {
  simulated_job job{milliseconds{1}, milliseconds{150}, milliseconds{100}};
  job.most = 2;
  REQUIRE(job.run(100) == 2);
  job.most = 16;
  REQUIRE(job.run(1000) == 2);
}

TEST_CASE("there are never more workers than there may be, and never none") {
  simulated_job job{milliseconds{1}, milliseconds{1000}};
  REQUIRE(job.run(50) == 16);
  job.most = 3;
  REQUIRE(job.run(20) == 3);
  job.most = 0;
  REQUIRE(job.run(20) == 1);
  job.most = 8;
  REQUIRE(job.run(200) == 8);
}

TEST_CASE("the same measurements give the same numbers of workers") {
  const auto numbers = [] {
    simulated_job job{milliseconds{20}, milliseconds{130}};
    std::vector<std::size_t> seen;
    for (int i = 0; i < 500; ++i)
      seen.push_back(job.run(1));
    return seen;
  };
  REQUIRE(numbers() == numbers());
}

TEST_CASE("workers go after five windows in a row without a wait, and not after five in all") {
  worker_control control{16};
  worker_measurement now{.most = 16};
  REQUIRE(control.ends_window(now.now));
  REQUIRE(control.judge(now) == 16);
  const auto window = [&](milliseconds waited) {
    now.now += milliseconds{800};
    now.waited += waited;
    now.busy += milliseconds{80};
    for (int batch = 1; batch < 8; ++batch)
      REQUIRE_FALSE(control.ends_window(now.now));
    REQUIRE(control.ends_window(now.now));
    return control.judge(now);
  };
  for (int i = 0; i < 3; ++i) {
    for (int quiet = 0; quiet < 4; ++quiet)
      REQUIRE(window(milliseconds{0}) == 16);
    REQUIRE(window(milliseconds{16}) == 16); // two percent: too little for more, too much for fewer
  }
  for (int quiet = 0; quiet < 4; ++quiet)
    REQUIRE(window(milliseconds{0}) == 16);
  REQUIRE(window(milliseconds{0}) == 9); // gives up half of the 15 that are not needed
}

TEST_CASE("nothing is decided within a moment") {
  simulated_job job{milliseconds{1}, milliseconds{2}};
  REQUIRE(job.run(200) == 16); // less than a window of 200 ms
}

} // namespace
} // namespace leat::worker_control_test
