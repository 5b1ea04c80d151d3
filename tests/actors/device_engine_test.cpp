#include "actors/device/device_engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat::test::device_engine_test {
namespace {

constexpr std::size_t rows = 3;

std::shared_ptr<const batch_layout> three_fields() {
  return std::make_shared<batch_layout>(std::vector<field_layout>{
      {"name", true, dtype::u8, shape{}},
      {"pixels", false, dtype::f32, shape{5}},
      {"tokens", true, dtype::i32, shape{}},
  });
}

/// What a field of the batch `step` of a run has on the device.
std::vector<std::byte> bytes_of(std::size_t field, std::uint64_t run, std::uint64_t step) {
  std::vector<std::byte> all(field == 1 ? rows * 5 * sizeof(float)
                                        : rows * (step % 4) * sizeof(std::int32_t));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::byte>(1 + (i + 7 * step + 31 * run + field) % 251);
  return all;
}

/// Makes batches of known bytes, and overwrites those of each slot that it gets back at once.
class known_batches final : public batch_engine {
public:
  /// The job fails at one step, and at another one next() throws.
  known_batches(std::shared_ptr<std::pmr::memory_resource> memory, std::uint64_t steps,
                std::uint64_t fails_at = UINT64_MAX, std::uint64_t throws_at = UINT64_MAX)
      : memory_(std::move(memory)), steps_(steps), fails_at_(fails_at), throws_at_(throws_at) {}

  std::size_t made() {
    const mutex_lock lock{mutex_};
    return made_;
  }
  std::size_t most_out() {
    const mutex_lock lock{mutex_};
    return most_out_;
  }

  void make_room(std::size_t leases) override {
    const mutex_lock lock{mutex_};
    while (made_ < 2 + leases) {
      free_.push_back(std::make_shared<batch_slot>(layout_, rows, tensor_memory{memory_, {}}));
      ++made_;
    }
  }

  slot_ptr next() override {
    mutex_lock lock{mutex_};
    if (step_ == throws_at_)
      throw error(errc::stuck, {.stage = "known_batches"});
    while (free_.empty() && !is_interrupted_)
      some_.wait(mutex_);
    if (is_interrupted_)
      throw error(errc::interrupted, {.stage = "known_batches"});
    auto slot = std::move(free_.front());
    free_.pop_front();
    most_out_ = std::max(most_out_, made_ - free_.size());
    batch_plan plan;
    plan.step = step_;
    if (step_ == fails_at_)
      plan = failed_batch(error(errc::bad_sample, {.stage = "known_batches"}));
    else if (step_ == steps_)
      plan.what = batch_plan::kind::end;
    const bool is_batch = plan.what == batch_plan::kind::batch;
    planned_batch batch;
    batch.plan = std::move(plan);
    batch.run = run_;
    for (std::size_t i = 0; is_batch && i < rows; ++i)
      batch.add().position = step_ * rows + i;
    slot->open(batch, false);
    if (is_batch)
      write(*slot, step_++);
    slot->close();
    return slot;
  }

  void recycle(slot_ptr slot) override {
    const mutex_lock lock{mutex_};
    slot->release();
    std::memset(const_cast<std::byte*>(slot->memory().dense(1)), 0xEE,
                slot->memory().dense_bytes(1));
    free_.push_back(std::move(slot));
    some_.notify_one();
  }

  void begin_epoch(std::uint64_t) override {}
  void rewind(std::uint64_t run) override {
    const mutex_lock lock{mutex_};
    run_ = run;
    step_ = 0;
  }
  void resize(std::size_t) override {}
  void interrupt() noexcept override {
    const mutex_lock lock{mutex_};
    is_interrupted_ = true;
    some_.notify_all();
  }
  bool shutdown() noexcept override { return true; }

private:
  void write(batch_slot& slot, std::uint64_t step) {
    const auto pixels = bytes_of(1, run_, step);
    const auto tokens = bytes_of(2, run_, step);
    row_places places;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto to = places.at(slot.memory(), row);
      std::memcpy(to.dense[1], pixels.data() + row * pixels.size() / rows, pixels.size() / rows);
      to.ragged[2].assign(
          std::span{tokens}.subspan(row * tokens.size() / rows, tokens.size() / rows));
      to.ragged[0].assign({});
      for (const auto field : {0, 2})
        to.ragged[field].complete();
      slot.mark_done(row);
    }
    slot.count_done(rows);
  }

  const std::shared_ptr<const batch_layout> layout_ = three_fields();
  const std::shared_ptr<std::pmr::memory_resource> memory_;
  const std::uint64_t steps_;
  const std::uint64_t fails_at_;
  const std::uint64_t throws_at_;
  mutex mutex_;
  condition_variable some_;
  std::deque<slot_ptr> free_;
  std::size_t made_ = 0;
  std::size_t most_out_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t run_ = 0;
  bool is_interrupted_ = false;
};

/// A device engine over known batches, and the trainer's part of a loader.
class job {
public:
  job(std::uint64_t seed, fake_order order, bool has_workers, std::size_t leases,
      std::uint64_t steps, std::uint64_t fails_at = UINT64_MAX,
      std::uint64_t throws_at = UINT64_MAX)
      : device(std::make_shared<fake_device>(seed, order)), leases_(leases) {
    const auto host = std::make_shared<pinned_memory>(device);
    batches = std::make_shared<known_batches>(host, steps, fails_at, throws_at);
    plan_ = std::make_shared<job_plan>(plan_without_layout(count(9).batch(3)));
    engine = std::make_shared<device_engine>(
        batches, device_parts{device, host, plan_device_fields(*three_fields(), rows, {}), leases_},
        plan_, metrics, has_workers);
    for (int i = 0; i < 3; ++i)
      streams.push_back(device->make_trainer_stream());
  }

  /// The next batch; null at the job's end.
  slot_ptr next() {
    engine->make_room(0);
    for (;;) {
      auto slot = engine->next();
      if (slot->run() != run) {
        engine->recycle(std::move(slot));
        continue;
      }
      if (slot->plan().what == batch_plan::kind::failed)
        throw error(*slot->plan().failure);
      if (slot->plan().what == batch_plan::kind::end) {
        engine->recycle(std::move(slot));
        return nullptr;
      }
      slot->lend();
      (void)slot->on_device()->lend();
      return slot;
    }
  }

  /// Has a stream read all of a batch, at some time.
  void use(batch_slot& slot, device_stream stream) {
    const auto step = slot.plan().step;
    const auto what = "run " + std::to_string(run) + " step " + std::to_string(step);
    for (const std::size_t field : {1, 2})
      if (auto bytes = bytes_of(field, run, step); !bytes.empty())
        device->expect(stream, slot.on_device()->data(field), std::move(bytes),
                       what + " field " + std::to_string(field));
  }

  void rewind() { engine->rewind(++run); }

  std::shared_ptr<fake_device> device;
  std::shared_ptr<known_batches> batches;
  std::shared_ptr<job_metrics> metrics = std::make_shared<job_metrics>();
  std::shared_ptr<device_engine> engine;
  std::vector<device_stream> streams;
  std::uint64_t run = 0;

private:
  const std::size_t leases_;
  std::shared_ptr<job_plan> plan_;
};

/// A trainer that uses batches in any of its streams, holds them for any time and drops them in any
/// thread.
void train(std::uint64_t seed, bool has_workers) {
  CAPTURE(seed, has_workers);
  std::mt19937_64 random{seed};
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::array orders{fake_order::eager, fake_order::lazy, fake_order::random};
  const std::size_t leases = 1 + draw(3);
  const std::uint64_t steps = 4 + draw(9);
  job x{seed, orders[draw(3)], has_workers, leases, steps};
  const std::uint64_t last = draw(3) == 0 ? draw(steps) : steps;
  std::deque<slot_ptr> held;
  std::uint64_t expected = 0;
  const auto drop = [&] {
    const auto i = static_cast<std::ptrdiff_t>(draw(held.size()));
    auto slot = std::move(held[static_cast<std::size_t>(i)]);
    held.erase(held.begin() + i);
    if (draw(3) == 0)
      std::thread{[&] { x.engine->recycle(std::move(slot)); }}.join();
    else
      x.engine->recycle(std::move(slot));
  };
  for (std::size_t rewinds = draw(3);;) {
    while (held.size() >= leases || (!held.empty() && draw(3) == 0))
      drop();
    if (rewinds > 0 && draw(8) == 0) {
      --rewinds;
      while (!held.empty()) // what they hold is known by the run
        drop();
      x.rewind();
      expected = 0;
    }
    if (expected == last && last < steps)
      break; // and leaves what was made ahead
    auto slot = x.next();
    if (!slot)
      break;
    REQUIRE(slot->plan().step == expected++);
    auto& to = *slot->on_device();
    if (draw(6) > 0) {
      const auto first = x.streams[draw(3)];
      to.make_wait(first);
      x.use(*slot, first);
      if (const auto other = x.streams[draw(3)]; draw(2) == 0) {
        x.device->follow(other, first);
        to.used_on(other);
        x.use(*slot, other);
      }
    } else if (draw(2) == 0) {
      to.used_on(std::nullopt);
      to.wait_until_copied();
      x.use(*slot, x.streams[draw(3)]);
    }
    held.push_back(std::move(slot));
  }
  CHECK(expected == last);
  if (draw(2) == 0)
    x.engine->shutdown(); // leases outlive their loader
  while (!held.empty())
    drop();
  if (draw(2) == 0)
    x.device->finish();
  CHECK(x.metrics->device.batches.get() >= last);
  const auto most_out = x.batches->most_out();
  CHECK(most_out <= 2 * (leases + 2) + 3);
  x.batches = nullptr;
  x.engine = nullptr;
  x.device->finish();
  CHECK(x.device->problems() == std::vector<std::string>{});
  const auto counts = x.device->counts();
  CHECK(counts.pinned_bytes == 0);
  CHECK(counts.device_bytes == 0);
  CHECK(counts.events == 0);
}

} // namespace

TEST_CASE("device_engine: on any device, batches are read when they are there and before others "
          "take their place") {
  for (std::uint64_t seed = 0; seed < (thread_sanitized ? 1400 : 7000); ++seed)
    if (is_drawn(seed))
      train(seed, false);
}

TEST_CASE("device_engine: the same with batches that are copied ahead, by a thread") {
  for (std::uint64_t seed = 0; seed < (thread_sanitized ? 600 : 3000); ++seed)
    if (is_drawn(seed))
      train(seed, true);
}

TEST_CASE("device_engine: in steady state the trainer's thread neither waits for the device nor "
          "allocates there") {
  job x{1, fake_order::random, true, 2, 300};
  fake_counts at_begin;
  for (std::uint64_t step = 0; step < 300; ++step) {
    if (step == 100)
      at_begin = x.device->counts();
    auto slot = x.next();
    REQUIRE(slot);
    slot->on_device()->make_wait(x.streams[0]);
    x.use(*slot, x.streams[0]);
    x.engine->recycle(std::move(slot));
  }
  const auto at_end = x.device->counts();
  CHECK(x.device->waits_of() == 0);
  CHECK(at_end.of(fake_call::make_event) == at_begin.of(fake_call::make_event));
  CHECK(at_end.of(fake_call::allocate) <= 4 * 3); // a ragged field grows to its longest
  CHECK(at_end.of(fake_call::pin) <= x.batches->made() + 4 * 2);
  CHECK(at_end.unpinned_copies == 0);
  CHECK(x.metrics->device.pinned.get() == 1);
  CHECK(x.batches->made() <= 2 + 4 + 5);
}

TEST_CASE("device_engine: failures of the pipeline and of the device come with the batch that they "
          "are for") {
  for (const bool has_workers : {false, true}) {
    CAPTURE(has_workers);
    SECTION("a batch that fails" + std::to_string(has_workers)) {
      job x{1, fake_order::random, has_workers, 2, 9, 2};
      for (int i = 0; i < 2; ++i)
        x.engine->recycle(x.next());
      CHECK(code_of([&] { (void)x.next(); }) == errc::bad_sample);
    }
    SECTION("an engine that throws" + std::to_string(has_workers)) {
      job x{1, fake_order::random, has_workers, 2, 9, UINT64_MAX, 3};
      for (int i = 0; i < 3; ++i)
        x.engine->recycle(x.next());
      CHECK(code_of([&] { (void)x.next(); }) == errc::stuck);
    }
    SECTION("a device that is lost" + std::to_string(has_workers)) {
      job x{1, fake_order::random, has_workers, 2, 900};
      x.engine->recycle(x.next());
      auto held = x.next();
      x.device->lose();
      CHECK(code_of([&] {
              for (int i = 0; i < 9; ++i)
                x.engine->recycle(x.next());
            })
            == errc::device);
      x.engine->recycle(std::move(held));
    }
    SECTION("a device that has no memory" + std::to_string(has_workers)) {
      auto device = std::make_shared<fake_device>(1);
      device->limit_memory(64);
      const auto host = std::make_shared<pinned_memory>(device);
      const auto first = [&] {
        device_engine engine{std::make_shared<known_batches>(host, 9),
                             {device, host, plan_device_fields(*three_fields(), rows, {}), 2},
                             std::make_shared<job_plan>(plan_without_layout(count(9).batch(3))),
                             std::make_shared<job_metrics>(),
                             has_workers};
        (void)engine.next();
      };
      CHECK(code_of(first) == errc::no_resources);
    }
  }
}

TEST_CASE("device_engine: where a copy fails half way, what is copied so far stays until it is") {
  for (const bool has_workers : {false, true}) {
    CAPTURE(has_workers);
    const auto device = std::make_shared<fake_device>(1, fake_order::lazy);
    const std::size_t slots = has_workers ? 4 : 3;
    device->limit_memory(slots * 512 + 100); // for all tensors, and for no ragged field
    {
      const auto host = std::make_shared<pinned_memory>(device);
      device_engine engine{std::make_shared<known_batches>(host, 9),
                           {device, host, plan_device_fields(*three_fields(), rows, {}), 2},
                           std::make_shared<job_plan>(plan_without_layout(count(9).batch(3))),
                           std::make_shared<job_metrics>(),
                           has_workers};
      CHECK(code_of([&] { (void)engine.next(); }) == errc::no_resources);
    }
    CHECK(device->problems() == std::vector<std::string>{});
    CHECK(device->counts().pinned_bytes == 0);
  }
}

TEST_CASE("device_engine: after its end the job can be started over") {
  for (const bool has_workers : {false, true}) {
    job x{3, fake_order::random, has_workers, 1, 2};
    for (int run = 0; run < 4; ++run) {
      for (std::uint64_t step = 0; step < 2; ++step) {
        auto slot = x.next();
        REQUIRE(slot);
        CHECK(slot->plan().step == step);
        x.engine->recycle(std::move(slot));
      }
      CHECK_FALSE(x.next());
      x.rewind();
    }
  }
}

TEST_CASE("plan_device_fields: numeric fields by default, and errors that name what there is") {
  const auto layout = three_fields();
  const auto all = plan_device_fields(*layout, 4, {});
  CHECK(all[0].dense_bytes == 0);
  CHECK_FALSE(all[0].is_ragged);
  CHECK(all[1].dense_bytes == 4 * 5 * sizeof(float));
  CHECK(all[2].is_ragged);
  const auto some = plan_device_fields(*layout, 4, {"tokens"});
  CHECK(some[1].dense_bytes == 0);
  CHECK(some[2].is_ragged);
  const auto text_of = [&](const std::vector<std::string>& names) {
    return std::string{
        problem_of([&] { (void)plan_device_fields(*layout, 4, names); }).value().what()};
  };
  CAPTURE(text_of({"pixel"}));
  CHECK(text_of({"pixel"}).find("\"pixel\", which no batch has, needed some of: pixels, tokens")
        != std::string::npos);
  CHECK(text_of({"name"}).find("\"name\", which is bytes and stays on the host")
        != std::string::npos);
}

} // namespace leat::test::device_engine_test
