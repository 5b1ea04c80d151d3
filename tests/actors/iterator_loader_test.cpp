#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/whole_job.hpp"

#include <leat/testing.hpp>

namespace leat::iterator_loader_test {
namespace {

constexpr std::uint64_t lanes = 24;

filter_stage keep(std::function<bool(std::uint64_t)> which) {
  return probing("keep@1", [which](sample& s) { return which(number_of(s)); });
}

/// Two filters probe content, the second one what a map made; between them is a buffer.
pipeline job_of(epoch_end end, std::uint64_t records = 500) {
  auto first = numbers(records)
                   .shuffle({.seed = 3})
                   .filter(keep([](std::uint64_t n) { return n % 7 != 2; }))
                   .shuffle_buffer(100, 8);
  return with_noise(first)
      .filter(keep([](std::uint64_t n) { return n % 5 != 1; }))
      .batch(48, {.lanes = lanes, .end = end});
}

/// Lane l has 2 + l / 2 items: 2 to 13.
pipeline uneven(epoch_end end) {
  return with_noise(numbers(30 * lanes).filter(keep([](std::uint64_t n) {
           return n / lanes < 2 + n % lanes / 2;
         })))
      .batch(48, {.lanes = lanes, .end = end});
}

/// Nothing looks at content: several ranks run far ahead.
pipeline by_key(epoch_end end, std::uint64_t records = 700) {
  return with_noise(numbers(records).filter(key_hash(70)).shuffle_buffer(60, 4))
      .batch(48, {.lanes = lanes, .end = end});
}

loader_options quick(std::size_t workers, std::uint64_t epochs = 1) {
  return {.workers = workers, .epochs = epochs, .hash_pixels = true};
}

/// Runs in one rank and one thread; takes a number of steps of a job without end.
std::vector<job_step> plain_run(const pipeline& data, std::uint64_t epochs,
                                std::size_t most = SIZE_MAX) {
  loader x{data, quick(0, epochs)};
  return next_steps(x, most);
}

/// A pipeline, and what is needed to run it.
struct work {
  pipeline data;
  std::uint64_t epochs;
  /// Steps of a job without end.
  std::size_t most;
};

std::vector<work> all_work() {
  return {{job_of(epoch_end::mask), 2, SIZE_MAX}, {job_of(epoch_end::drop), 2, SIZE_MAX},
          {job_of(epoch_end::cycle), 1, 20},      {uneven(epoch_end::mask), 2, SIZE_MAX},
          {uneven(epoch_end::drop), 3, SIZE_MAX}, {uneven(epoch_end::cycle), 1, 20},
          {by_key(epoch_end::mask), 2, SIZE_MAX}, {by_key(epoch_end::drop), 3, SIZE_MAX}};
}

TEST_CASE("iterators: batches are the same for any worker count, world size and policy") {
  for (const auto& job : all_work()) {
    const auto reference = plain_run(job.data, job.epochs, job.most);
    CAPTURE(to_string(job.data), reference.size());
    REQUIRE(reference.size() >= 3);
    for (std::uint64_t world : {1, 2, 3, 4, 6, 8, 12, 24})
      for (std::size_t workers : {0, 1, 3}) {
        if (test::thread_sanitized && world != 1 && world != 3)
          continue;
        auto options = quick(workers, job.epochs);
        options.dispatch = all_policies[(world + workers) % 3];
        CAPTURE(world, workers);
        REQUIRE(global_steps(run_ranks(job.data, options, world, {}, job.most)) == reference);
      }
  }
}

/// Units are lanes: record k of unit u.
class counting_reader final : public sequential_reader {
public:
  explicit counting_reader(std::uint64_t unit) : unit_(unit) {}
  bool next(sample& into) override {
    if (at_ == 40)
      return false;
    into.set("n", unit_ * 1000 + at_++);
    return true;
  }
  std::optional<std::string> save() const override { return std::to_string(at_); }
  void load(const std::string& state) override { at_ = std::stoull(state); }

private:
  std::uint64_t unit_;
  std::uint64_t at_ = 0;
};

TEST_CASE("iterators: by_lane keeps a stream's lane on one worker, in every round") {
  constexpr std::uint64_t units = 6;
  std::mutex mutex;
  // The threads that called functions for a lane, before and after the filter.
  std::map<std::pair<int, std::uint64_t>, std::set<std::thread::id>> seen;
  const auto trainer = std::this_thread::get_id();
  std::uint64_t wrong_lanes = 0;
  auto watch = [&](int where) {
    return [&, where](sample& s, context& c) {
      std::lock_guard lock{mutex};
      if (std::this_thread::get_id() != trainer)
        seen[{where, c.lane()}].insert(std::this_thread::get_id());
      wrong_lanes += c.lanes() != units || number_of(s) / 1000 != c.lane() ? 1U : 0U;
    };
  };
  const auto data = sequential("count@1", units,
                               [](auto unit) { return std::make_unique<counting_reader>(unit); })
                        .map("before@1", watch(0))
                        .filter(keep([](std::uint64_t n) { return n % 3 != 1; }))
                        .map("behind@1", watch(1))
                        .batch(2 * units, {.lanes = units, .end = epoch_end::mask});
  const auto expected = plain_run(data, 1);
  for (const std::size_t workers : {2, 3, 4}) {
    CAPTURE(workers);
    seen.clear();
    auto options = quick(workers);
    options.dispatch = dispatch_policy::by_lane;
    loader from{data, options};
    CHECK(next_steps(from) == expected);
    CHECK(seen.size() == 2 * units);
    std::set<std::thread::id> busy;
    for (const auto& [place, who] : seen) {
      CHECK(who.size() == 1);
      busy.insert(who.begin(), who.end());
    }
    CHECK(busy.size() == workers);
  }
  CHECK(wrong_lanes == 0);
}

TEST_CASE("iterators: wherever a rank fails, the others hear of it or end") {
  constexpr std::uint64_t rows = 12;
  for (const auto end : {epoch_end::drop, epoch_end::mask})
    for (const std::uint64_t world_size : {2, 3})
      for (const std::uint64_t steps : {std::uint64_t{7}, UINT64_MAX})
        for (std::uint64_t position = 0; position < 5 * rows; position += 5) {
          CAPTURE(end, world_size, steps, position);
          const auto data =
              count(5 * rows).shuffle_buffer(24, 5).batch(rows, {.lanes = rows, .end = end});
          loader_options options{
              .epochs = 2, .steps = steps, .fault = drill({.throw_at = {position}})};
          options.workers = position % 2;
          options.hash_pixels = true;
          // Every rank returns: an all-gather that one of them misses would wait for ever.
          const auto runs = run_ranks(data, options, world_size);
          const auto owner = position % world_size;
          REQUIRE(runs[owner].failure);
          CHECK(runs[owner].failure->code() == errc::bad_sample);
          CHECK(runs[owner].steps.size() == position / rows);
          for (const auto& x : runs)
            CHECK((!x.failure || &x == &runs[owner] || x.failure->code() == errc::worker_lost));
        }
}

TEST_CASE("iterators: ranks agree at most once a batch, and under cycle never") {
  const auto agreements = [](const pipeline& data, std::size_t most) {
    const auto runs = run_ranks(data, quick(1, 2), 4, {}, most);
    for (const auto& x : runs) {
      CHECK(x.agreements == runs.front().agreements);
      CHECK(x.agreements <= x.steps.size());
    }
    return runs.front().agreements;
  };
  CHECK(agreements(uneven(epoch_end::mask), SIZE_MAX) > 2);
  CHECK(agreements(uneven(epoch_end::drop), SIZE_MAX) == 2); // of one batch each
  CHECK(agreements(uneven(epoch_end::cycle), 20) == 0);
}

TEST_CASE("iterators: ranks agree once for many batches where nothing looks at content") {
  for (const auto end : {epoch_end::mask, epoch_end::drop}) {
    const auto runs = run_ranks(by_key(end, 12'000), quick(1), 2);
    const auto batches = runs[0].steps.size();
    CAPTURE(end, batches, runs[0].agreements);
    CHECK(batches > 150);
    CHECK(runs[0].agreements == runs[1].agreements);
    CHECK(runs[0].agreements <= batches / 8); // as many as 63, but for what is not read ahead yet
  }
}

TEST_CASE("iterators: a rank that fails does not wait for ranks that wait for its gradients") {
  constexpr std::uint64_t rows = 4;
  constexpr std::uint64_t failing = 20;
  for (const auto end : {epoch_end::mask, epoch_end::drop}) {
    all_gather gather{2};
    std::vector<loader> ranks;
    for (std::uint64_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back(
          count(400).filter(key_hash(100)).batch(rows, {.lanes = rows, .end = end}),
          loader_options{
              .rank = rank,
              .world_size = 2,
              .workers = 1,
              .agree = [&gather, rank](const epoch_agreement& mine) { return gather(rank, mine); },
              .fault = drill({.throw_at = {failing * rows + 1}})});
    // Each step ends when both ranks have its batch, or have failed.
    for (std::uint64_t step = 0; step <= failing; ++step) {
      std::optional<error> failed[2];
      std::vector<std::thread> both;
      for (std::size_t rank = 0; rank < 2; ++rank)
        both.emplace_back([&, rank] { failed[rank] = problem_of([&] { ranks[rank].next(); }); });
      for (auto& x : both)
        x.join();
      CHECK_FALSE(failed[0]);
      REQUIRE(failed[1].has_value() == (step == failing));
      if (failed[1])
        CHECK(failed[1]->code() == errc::bad_sample);
    }
  }
}

TEST_CASE("iterators: restored at every step they give the same state and the same later batches") {
  for (const auto& job : all_work()) {
    CAPTURE(to_string(job.data));
    loader whole{job.data, quick(2, job.epochs)};
    const auto [reference, states] = whole_job{whole, job.most};
    for (std::size_t at = 0; at < states.size(); ++at) {
      CAPTURE(at);
      loader x{job.data, quick(at % 4, job.epochs)};
      REQUIRE(x.restore_parts({states[at]}).global_step == at);
      REQUIRE(x.snapshot() == states[at]); // without a step in between
      REQUIRE(next_steps(x, reference.size() - at) == tail_of(reference, at));
      if (job.most == SIZE_MAX)
        REQUIRE_FALSE(x.next());
    }
  }
}

TEST_CASE("iterators: parts of one world restore any other, in any order, sums included") {
  for (const auto& job : all_work()) {
    const auto reference = plain_run(job.data, job.epochs, 12);
    CAPTURE(to_string(job.data));
    hash128 total;
    std::vector<std::string> parts;
    std::size_t done = 0;
    for (std::uint64_t world : {8, 6, 3, 24, 1, 12, 2}) {
      CAPTURE(world, done);
      if (done == reference.size())
        break;
      std::reverse(parts.begin(), parts.end());
      const auto begin = [&](loader& x) {
        if (parts.empty())
          return;
        const auto point = x.restore_parts(parts);
        if (point.global_step != done)
          throw error(errc::mismatch, {.stage = "global step"});
        if (point.digest != total && point.digest != hash128{})
          throw error(errc::mismatch, {.stage = "digest"});
      };
      const auto runs =
          run_ranks(job.data, quick(world % 3, job.epochs), world, begin, 1 + world % 2);
      for (const auto& step : global_steps(runs)) {
        REQUIRE(step == reference[done++]);
        total += step.digest;
      }
      parts = parts_after(runs, runs.front().steps.size() - 1);
    }
    REQUIRE(done >= std::min<std::size_t>(reference.size(), 9));
  }
}

TEST_CASE(
    "iterators: the parts of a set restore only together, and the rank that is missing is named") {
  const auto data = job_of(epoch_end::cycle);
  const auto runs = run_ranks(data, quick(1), 3, {}, 2);
  const auto parts = parts_after(runs, 1);
  for (std::size_t missing = 0; missing < 3; ++missing) {
    CAPTURE(missing);
    auto some = parts;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(missing));
    check_refusal(
        [&] {
          loader{data, quick(0)}.restore_parts(some);
        },
        errc::bad_snapshot, {"rank " + std::to_string(missing)});
  }
  // A rank of the same world needs only its own part.
  auto options = quick(0);
  options.world_size = 3;
  options.rank = 1;
  CHECK(loader{data, options}.restore_parts({parts[1]}).global_step == 2);
  check_refusal([&] { loader{data, options}.restore_parts({parts[0]}); }, errc::bad_snapshot);
}

TEST_CASE("iterators: a world size that does not divide the lanes is refused, with those that do") {
  const auto refusal = [](std::uint64_t world, std::uint64_t of) {
    const auto data = numbers(200).shuffle_buffer(100).batch(of, {.end = epoch_end::cycle});
    return problem_of([&] { loader(data, {.world_size = world}); });
  };
  for (std::uint64_t world : {1, 2, 3, 4, 6, 8, 12, 24})
    CHECK_FALSE(refusal(world, 24));
  REQUIRE(refusal(5, 24));
  CHECK(refusal(5, 24)->code() == errc::invalid_argument);
  CHECK(refusal(5, 24)->details().stage == "loader.world_size");
  CHECK(refusal(5, 24)->details().needed == "1, 2, 3, 4, 6, 8, 12 or 24");
  CHECK(refusal(2, 9)->details().needed == "1, 3 or 9");
  CHECK(refusal(2, 7)->details().needed == "1 or 7");
  CHECK(refusal(2, 1)->details().needed == "1");
  CHECK(refusal(48, 24)); // beyond the lanes
}

TEST_CASE("iterators: what they cannot do is refused when a loader is made") {
  const auto data = job_of(epoch_end::mask);
  auto options = quick(0);
  options.bad_samples = bad_sample_policy::substitute;
  const auto substitute = problem_of([&] { loader(data, options); });
  REQUIRE(substitute);
  CHECK(substitute->details().stage == "loader.bad_samples");
  CHECK(substitute->details().needed == "fail or mask");
  for (auto end : {epoch_end::mask, epoch_end::drop}) {
    const auto alone = problem_of([&] { loader(job_of(end), {.world_size = 2}); });
    REQUIRE(alone);
    CHECK(alone->details().stage == "loader.agree");
  }
  CHECK_NOTHROW(loader(job_of(epoch_end::cycle), {.world_size = 2}));
}

TEST_CASE("iterators: nobody knows the batches of an epoch, nor of one without end") {
  for (auto end : {epoch_end::mask, epoch_end::drop, epoch_end::cycle}) {
    CHECK_FALSE(job_of(end).batches_per_epoch());
    CHECK_FALSE(loader(job_of(end), quick(0)).batches_per_epoch());
  }
  const auto by_index = [](epoch_end end) { return numbers(50).shuffle().batch(8, {.end = end}); };
  CHECK(loader(by_index(epoch_end::mask), quick(0)).batches_per_epoch() == 7U);
  CHECK(by_index(epoch_end::drop).batches_per_epoch() == 6U);
  CHECK_FALSE(loader(by_index(epoch_end::cycle), quick(0)).batches_per_epoch());
}

TEST_CASE("iterators: seek and skip_first_batches go to any batch, with and without other ranks") {
  for (const auto& job : all_work())
    for (std::uint64_t world : {1, 3}) {
      const auto all = plain_run(job.data, job.epochs, job.most);
      CAPTURE(to_string(job.data), world, all.size());
      const auto whole = run_ranks(job.data, quick(1, job.epochs), world, {}, job.most);
      for (std::size_t n = 0; n < all.size(); n += 1 + n / (test::thread_sanitized ? 1 : 4)) {
        CAPTURE(n);
        const auto half = n / 2;
        const auto check = [&](const std::function<void(loader&)>& begin) {
          auto most = job.most == SIZE_MAX ? SIZE_MAX : job.most - n;
          const auto runs = run_ranks(job.data, quick(n % 3, job.epochs), world, begin, most);
          REQUIRE(global_steps(runs) == tail_of(all, n));
        };
        check([&](loader& x) { x.skip_first_batches(n); });
        check([&](loader& x) {
          if (half > 0)
            x.restore_parts(parts_after(whole, half - 1));
          x.skip_first_batches(n - half);
        });
        check([&](loader& x) { x.seek(all[n].epoch, all[n].step); });
        // What was left out must not come back.
        check([&](loader& x) {
          x.skip_first_batches(n);
          if (x.position().step != all[n].step || x.position().epoch != all[n].epoch)
            throw error(errc::mismatch, {.stage = "position"});
        });
      }
    }
}

TEST_CASE("iterators: a state taken after seek or skip_first_batches is that of the batch") {
  for (const auto& job : all_work()) {
    const auto all = plain_run(job.data, job.epochs, job.most);
    CAPTURE(to_string(job.data), all.size());
    for (std::size_t n = 1; n < std::min<std::size_t>(all.size(), 6); ++n) {
      loader skipped{job.data, quick(0, job.epochs)};
      skipped.skip_first_batches(n);
      loader x{job.data, quick(0, job.epochs)};
      REQUIRE(x.restore_parts({skipped.snapshot()}).global_step == n);
      REQUIRE(next_steps(x, 1).at(0) == all[n]);
    }
  }
}

TEST_CASE(
    "iterators: skip_first_batches goes to the end and no further, seek to a batch that exists") {
  const auto data = job_of(epoch_end::mask);
  const auto all = plain_run(data, 2);
  loader end{data, quick(0, 2)};
  end.skip_first_batches(all.size());
  CHECK_FALSE(end.next());
  loader beyond{data, quick(0, 2)};
  beyond.skip_first_batches(all.size() + 5);
  CHECK_FALSE(beyond.next());
  check_refusal([&] { loader(data, quick(0, 2)).seek(0, all.size()); }, errc::invalid_argument);
  check_refusal([&] { loader(job_of(epoch_end::cycle), quick(0)).seek(1, 0); },
                errc::invalid_argument);
  loader begun{data, quick(0, 2)};
  begun.next();
  CHECK_THROWS_AS(begun.seek(0, 0), error);
  CHECK_THROWS_AS(begun.skip_first_batches(1), error);
}

TEST_CASE("iterators: abandon_epoch continues with the next epoch, whatever was made ahead") {
  for (const auto& data : {job_of(epoch_end::mask), job_of(epoch_end::drop),
                           with_noise(numbers(500).shuffle()).batch(48)})
    for (std::uint64_t world : {1, 4})
      for (std::size_t workers : {0, 2}) {
        const auto all = plain_run(data, 3);
        const auto begin_of = [&](std::uint64_t epoch) {
          return static_cast<std::size_t>(
              std::find_if(all.begin(), all.end(), [&](auto& x) { return x.epoch == epoch; })
              - all.begin());
        };
        CAPTURE(to_string(data), world, workers);
        for (std::size_t n = 0; n <= begin_of(1); n += test::thread_sanitized ? 5 : 1) {
          CAPTURE(n);
          auto expected = head_of(all, n);
          // Before its first batch an epoch has not begun, and nothing is left out.
          const auto next = tail_of(all, n == 0 ? 0 : begin_of(1));
          expected.insert(expected.end(), next.begin(), next.end());
          const auto runs = run_ranks(data, quick(workers, 3), world, {}, SIZE_MAX,
                                      [&](loader& x, std::size_t done) {
                                        if (done == n)
                                          x.abandon_epoch();
                                      });
          REQUIRE(global_steps(runs) == expected);
        }
      }
}

TEST_CASE("iterators: a state taken after abandon_epoch is the beginning of the next epoch") {
  for (const auto& data : {job_of(epoch_end::mask), with_noise(numbers(500).shuffle()).batch(48)}) {
    const auto all = plain_run(data, 2);
    loader x{data, quick(1, 2)};
    (void)x.next();
    (void)x.next();
    x.abandon_epoch();
    CHECK(x.position().epoch == 1);
    CHECK(x.position().step == 0);
    loader restored{data, quick(0, 2)};
    CHECK(restored.restore_parts({x.snapshot()}).epoch == 1);
    const auto rest = next_steps(restored);
    CHECK(rest.front().epoch == 1);
    CHECK(rest == tail_of(all, all.size() - rest.size()));
    CHECK(rest.front().step == 0);
  }
}

TEST_CASE("iterators: one endless epoch cannot be abandoned") {
  for (const auto& data :
       {job_of(epoch_end::cycle), numbers(50).batch(8, {.end = epoch_end::cycle})}) {
    loader x{data, quick(0)};
    (void)x.next();
    check_refusal([&] { x.abandon_epoch(); }, errc::invalid_argument);
    CHECK(x.next()->step() == 1);
  }
}

} // namespace
} // namespace leat::iterator_loader_test
