#include "runtime/base/threads/blocking_queue.hpp"
#include "runtime/rows/iterator_order.hpp"
#include "runtime/rows/row_worker.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::iterator_order_test {
namespace {

/// What one thread sees of a slot as soon as it is complete, while another one opens it.
struct sighting_of_batch {
  std::uint64_t step = 0;
  std::shared_ptr<const lane_states> lanes;
  epoch_horizon horizon;
};

TEST_CASE(
    "iterator_order: a thread that sees an empty batch complete sees all that it was opened with") {
  // The second rank's lane is empty: all its batches are empty, and complete when they are opened.
  const auto data = count(1).filter(key_hash(100)).batch(2, {.end = epoch_end::mask});
  const auto plan = plan_of(data, nullptr);
  const auto order = order_of_rank(*plan, 1, 1, 2);
  batch_slot slot{plan->layout, 1};
  planned_batch batch;
  constexpr std::uint64_t batches = 1000;
  std::atomic<std::uint64_t> seen{0};
  std::vector<sighting_of_batch> sightings(batches);
  slot.reserve();
  std::thread other{[&] {
    for (auto& x : sightings) {
      for (int i = 1; !slot.complete(); ++i)
        if (i % 4096 == 0) // else as soon as can be
          std::this_thread::yield();
      x = {slot.plan().step, slot.plan().lanes, slot.plan().horizon};
      slot.release();
      slot.reserve();
      ++seen;
    }
  }};
  for (std::uint64_t step = 0; step < batches; ++step) {
    REQUIRE(order->open(batch));
    slot.open(batch, false);
    while (seen <= step)
      std::this_thread::yield();
  }
  other.join();
  const lane_states* former = nullptr;
  for (std::uint64_t step = 0; step < batches; ++step) {
    CAPTURE(step);
    const auto& x = sightings[step];
    REQUIRE(x.step == step);
    REQUIRE(x.lanes);
    REQUIRE(x.lanes.get() != std::exchange(former, x.lanes.get())); // not the former batch's
    REQUIRE(x.lanes->size() == 1);
    REQUIRE(x.lanes->front().lane == 1);
    REQUIRE(x.horizon.batches == 0); // what is final stays so
    REQUIRE(x.horizon.is_final);
  }
}

/// Filters that keep, drop or refuse each of a few records at random; while the batch's fields are
/// learned they keep all.
class random_judges {
public:
  random_judges(std::uint64_t seed, std::uint64_t records) : records_(records), chance_(seed) {}

  filter_stage next() {
    std::vector<int> verdicts(records_);
    for (auto& x : verdicts)
      x = static_cast<int>(chance_() % 8);
    const auto judge = [all = std::move(verdicts), active = active_](sample& s) {
      const auto verdict =
          *active ? all[static_cast<std::size_t>(s.bytes("value")[0]) % all.size()] : 0;
      if (verdict == 7)
        throw bad_sample(cause::corrupt, "judged so");
      return verdict < 4;
    };
    return {.name = "judged@1", .make = [judge] { return judge; }};
  }
  void begin() { *active_ = true; }

private:
  std::uint64_t records_;
  std::mt19937_64 chance_;
  std::shared_ptr<bool> active_ = std::make_shared<bool>(false);
};

std::string text_of(const planned_batch& batch) {
  const auto& plan = batch.plan;
  if (plan.what == batch_plan::kind::end)
    return "end";
  if (plan.what == batch_plan::kind::failed)
    return plan.failure->what();
  // Without the horizon, which depends on what has come.
  auto text = std::to_string(plan.epoch) + '/' + std::to_string(plan.step)
              + (plan.end_of_epoch ? " last:" : ":");
  for (std::size_t i = 0; i < batch.rows; ++i)
    text += ' ' + std::to_string(batch.requests[i].position);
  return text;
}

/// Who runs the lanes of an order.
enum class lanes_run { in_its_thread, in_workers, in_workers_that_probe };

/// Runs what is no batch, in the caller's thread.
class probing_worker {
public:
  explicit probing_worker(const std::shared_ptr<const job_plan>& plan) {
    worker_.plan = plan;
    worker_.record = std::make_shared<worker_record>();
    worker_.function.emplace(plan, worker_.record);
  }

  /// False if it was not complete then.
  bool run(batch_slot& slot) {
    if (slot.holds_turns())
      return worker_.run(slot, 0, slot.num_rows()) == row_worker::verdict::complete;
    for (std::size_t row = 0; row < slot.num_rows(); ++row)
      worker_.function->run(slot.request(row), {}, slot.result(row));
    return true;
  }

private:
  row_worker worker_;
};

/// All batches of an order, or its first ones, and how it ends. Without `chance`, all probes and
/// turns are done before the next batch is asked for; with it, one of those in flight, and so on.
std::vector<std::string> run_order(const std::shared_ptr<const job_plan>& plan,
                                   std::mt19937_64* chance,
                                   lanes_run how = lanes_run::in_its_thread) {
  constexpr std::size_t most = 40;
  const auto order = order_of_rank(*plan, 3, 0, 1, how != lanes_run::in_its_thread);
  const std::size_t workers = how == lanes_run::in_workers_that_probe ? 1 : 1000;
  probing_worker worker{plan};
  planned_batch batch;
  std::vector<std::unique_ptr<batch_slot>> probes;
  std::vector<std::string> result;
  const auto close = [&](std::size_t i) {
    auto& slot = *probes[i];
    REQUIRE(worker.run(slot));
    slot.holds_turns() ? order->close_turns(slot) : order->close_probe(slot);
    probes.erase(probes.begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto add = [&](planned_batch& from, std::size_t rows) {
    probes.push_back(std::make_unique<batch_slot>(std::make_shared<batch_layout>(), rows));
    probes.back()->open(from, false);
  };
  while (result.size() < most) {
    if (order->open(batch)) {
      result.push_back(text_of(batch));
      if (batch.plan.what != batch_plan::kind::batch)
        return result;
      continue;
    }
    for (;;) {
      const auto rows = chance ? 1 + (*chance)() % 3 : 64;
      planned_batch probe;
      if (!order->open_probe(probe, rows))
        break;
      add(probe, rows);
    }
    if (planned_batch turns; order->open_turns(turns, workers))
      add(turns, turns.rows);
    REQUIRE((!probes.empty() || order->wants_to_run()));
    if (chance && !probes.empty())
      close((*chance)() % probes.size());
    while (!chance && !probes.empty())
      close(0);
  }
  return result;
}

TEST_CASE(
    "iterator_order: batches, ends and errors do not depend on which item workers judge first, "
    "nor on who runs lanes") {
  for (std::uint64_t seed = 1; seed <= (test::thread_sanitized ? 40 : 400); ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const std::uint64_t lanes = 1 + chance() % 3;
    const std::uint64_t records = 2 + chance() % 12;
    random_judges judges{seed, records};
    auto data = count(records).filter(judges.next());
    if (chance() % 2 == 0)
      data = data.shuffle_buffer(2 * lanes, seed).filter(judges.next());
    constexpr std::array ends{epoch_end::drop, epoch_end::mask, epoch_end::cycle};
    const auto end = ends[chance() % 3];
    const auto plan =
        plan_of(data.batch(lanes * (1 + chance() % 2), {.lanes = lanes, .end = end}), nullptr);
    judges.begin();
    const auto expected = run_order(plan, nullptr);
    for (int i = 0; i < 12; ++i)
      REQUIRE(run_order(plan, &chance) == expected);
    for (const auto how : {lanes_run::in_workers, lanes_run::in_workers_that_probe}) {
      REQUIRE(run_order(plan, nullptr, how) == expected);
      for (int i = 0; i < 6; ++i)
        REQUIRE(run_order(plan, &chance, how) == expected);
    }
  }
}

/// All batches of an order whose lanes and probes run in so many threads, as they come.
std::vector<std::string> run_in_threads(const std::shared_ptr<const job_plan>& plan,
                                        std::size_t workers) {
  using slot_queue = blocking_queue<batch_slot*>;
  const auto never = std::chrono::steady_clock::now() + std::chrono::hours{1};
  slot_queue done;
  std::deque<slot_queue> dealt(workers);
  std::vector<std::thread> threads;
  for (auto& mine : dealt)
    threads.emplace_back([&] {
      probing_worker worker{plan};
      while (const auto slot = mine.pop_until(never)) {
        (void)worker.run(**slot);
        done.push(*slot);
      }
    });
  const auto order = order_of_rank(*plan, 3, 0, 1, true);
  std::size_t number = 0;
  const auto deal = [&](planned_batch& rows) {
    auto slot = std::make_unique<batch_slot>(std::make_shared<batch_layout>(), rows.rows);
    slot->open(rows, false);
    dealt[number++ % workers].push(slot.release());
  };
  std::vector<std::string> result;
  for (planned_batch batch; result.size() < 40;) {
    if (order->open(batch)) {
      result.push_back(text_of(batch));
      if (batch.plan.what != batch_plan::kind::batch)
        break;
      continue;
    }
    for (planned_batch turns; order->open_turns(turns, workers);)
      deal(turns);
    for (planned_batch probe; order->open_probe(probe, 2);)
      deal(probe);
    const std::unique_ptr<batch_slot> slot{*done.pop_until(never)};
    slot->holds_turns() ? order->close_turns(*slot) : order->close_probe(*slot);
  }
  for (auto& x : dealt)
    x.interrupt();
  for (auto& x : threads)
    x.join();
  while (const auto slot = done.try_pop())
    delete *slot;
  return result;
}

TEST_CASE("iterator_order: batches do not depend on which thread runs a lane while others probe") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 chance{seed};
    const std::uint64_t lanes = 1 + chance() % 3;
    random_judges judges{seed, 60};
    const auto data = count(60).filter(judges.next()).shuffle_buffer(4 * lanes, seed);
    const auto plan = plan_of(data.batch(lanes, {.lanes = lanes, .end = epoch_end::mask}), nullptr);
    judges.begin();
    const auto expected = run_order(plan, nullptr);
    for (const std::size_t workers : {1, 2, 4}) {
      CAPTURE(seed, lanes, workers);
      REQUIRE(run_in_threads(plan, workers) == expected);
    }
  }
}

/// One lane of a source that is judged, a row a batch.
std::shared_ptr<job_plan> judged_plan(std::uint64_t records, epoch_end end) {
  const filter_stage all{.name = "all@1", .make = [] { return [](sample&) { return true; }; }};
  return plan_of(count(records).filter(all).batch(1, {.end = end}), nullptr);
}

TEST_CASE("iterator_order: data that ends before what a snapshot has used is refused") {
  constexpr std::array ends{epoch_end::drop, epoch_end::mask, epoch_end::cycle};
  constexpr std::uint64_t all = 5;
  for (const auto end : ends)
    for (std::uint64_t used = 1; used < all; ++used)
      for (std::uint64_t left = 1; left <= all; ++left) {
        CAPTURE(static_cast<int>(end), used, left);
        const auto before = judged_plan(all, end);
        row_runner first{before, std::make_shared<worker_record>()};
        inline_order genuine{order_of_rank(*before, 3), first};
        iterator_start from{.at = {0, used}};
        for (std::uint64_t i = 0; i < used; ++i)
          from.lanes = *genuine.next().plan.lanes;
        const auto after = judged_plan(left, end);
        row_runner second{after, std::make_shared<worker_record>()};
        inline_order order{
            std::make_unique<iterator_order>(after->samples, after->shape, 0, 1, 3, from), second};
        const auto& next = order.next();
        if (left < used) {
          REQUIRE(next.plan.what == batch_plan::kind::failed);
          REQUIRE(next.plan.failure->code() == errc::mismatch);
          continue;
        }
        REQUIRE(next.plan.what == batch_plan::kind::batch);
        REQUIRE(next.rows == 1);
        REQUIRE(next.requests[0].when == lap{left == used ? 1U : 0U, 0});
      }
}

TEST_CASE(
    "iterator_order: samples of short lines that were looked at are made again, others are kept") {
  const test::temporary_directory dir;
  const std::vector<std::size_t> sizes{10, 1024, 1025, 64 * 1024, 70 * 1024};
  {
    std::ofstream out{dir / "x.txt"};
    for (const auto size : sizes)
      out << std::string(size, 'x') << '\n';
  }
  const filter_stage all{.name = "all@1", .make = [] { return [](sample&) { return true; }; }};
  const auto read = lines(dir / "x.txt");
  const auto judged = [&](const pipeline& below) {
    return plan_of(below.filter(all).batch(sizes.size(), {.end = epoch_end::mask}), nullptr);
  };
  CHECK(judged(read.filter(all).shuffle_buffer(8))->samples->edges.back().made_again == 1024);
  CHECK(judged(read.deduplicate({"text"}, 9))->samples->edges.back().made_again == 0);
  CHECK(judged(zip({read, count(9)}))->samples->edges.back().made_again == 0);
  for (const bool is_mapped : {false, true})
    for (const bool is_in_one_thread : {false, true}) {
      CAPTURE(is_mapped, is_in_one_thread);
      const auto plan = judged(is_mapped ? read.map("same@1", [](sample&, context&) {}) : read);
      row_runner function{plan, std::make_shared<worker_record>()};
      if (is_in_one_thread)
        function.stay_in_thread();
      const auto order = order_of_rank(*plan, 1);
      batch_slot probes{std::make_shared<batch_layout>(), sizes.size()};
      planned_batch batch;
      REQUIRE_FALSE(order->open(batch));
      std::size_t seen = 0;
      while (order->open_probe(batch, sizes.size())) {
        probes.reserve();
        probes.open(batch, false);
        for (std::size_t i = 0; i < probes.num_rows(); ++i, ++seen) {
          auto& result = probes.result(i);
          function.run(probes.request(i), {}, result);
          const auto largest = is_mapped ? 0U : is_in_one_thread ? 1024U : 65536U;
          CAPTURE(sizes.at(seen));
          CHECK((result.seen.made != nullptr) == (sizes.at(seen) > largest));
          CHECK((result.seen.bytes >= sizes.at(seen)) == (sizes.at(seen) > largest));
        }
        order->close_probe(probes);
        probes.release();
      }
      CHECK(seen == sizes.size());
      REQUIRE(order->open(batch));
      CHECK(batch.rows == sizes.size());
    }
}

} // namespace
} // namespace leat::iterator_order_test
