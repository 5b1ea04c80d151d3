#include "runtime/job/epoch_end_agreement.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::epoch_horizon_test {
namespace {

/// Makes filters fail, once it is switched on after the batch's fields were learned.
using trap = std::shared_ptr<std::atomic<bool>>;

/// An operator of random kind; some look at content. `fails`: one id breaks the lane.
pipeline extended(const pipeline& x, std::mt19937_64& chance, std::uint64_t lanes, const trap& on,
                  bool probes, bool fails) {
  const auto seed = chance();
  switch (chance() % (probes ? 10 : 8)) {
  case 0:
    return x.filter(key_hash(30 + chance() % 70, seed));
  case 1:
    return x.sample(0.5, seed);
  case 2:
    return x.shuffle_buffer(2 * lanes + chance() % 40, seed);
  case 3:
    return x.flat_map(copies(chance() % 3 + 1));
  case 4:
    return x.take(chance() % 200);
  case 5:
    return x.skip(chance() % 10);
  case 6:
    return mix({x, count(chance() % 100)}, {.stop = mix_stop::first, .seed = seed});
  case 7:
    return x.filter({.name = "trap@1", .of_id = [on, fails, seed](std::string_view id) {
                       if (*on && fails && std::hash<std::string_view>{}(id) % 64 == seed % 64)
                         throw std::runtime_error("trapped");
                       return true;
                     }});
  case 8:
    return x.filter(field_hash("value", 60, seed));
  default:
    return x.filter({.name = "judge@1", .make = [on, fails, seed] {
                       return [on, fails, seed](sample& s) {
                         const auto first = static_cast<std::uint64_t>(s.bytes("value")[0]);
                         if (*on && fails && first % 64 == seed % 64)
                           throw bad_sample(cause::corrupt, "judged so");
                         return first % 5 != seed % 5;
                       };
                     }});
  }
}

/// A pipeline of random operators, in ranks.
struct random_job {
  std::uint64_t lanes = 1;
  std::uint64_t per_lane = 1;
  std::uint64_t world_size = 1;
  bool probes = false;
  std::shared_ptr<job_plan> plan;

  explicit random_job(std::mt19937_64& chance) {
    const std::vector<std::uint64_t> all{1, 2, 3, 4, 6, 8};
    lanes = all[chance() % all.size()];
    per_lane = 1 + chance() % 3;
    do
      world_size = all[chance() % all.size()];
    while (lanes % world_size != 0);
    probes = chance() % 2 == 0;
    const bool fails = chance() % 3 == 0;
    const auto on = std::make_shared<std::atomic<bool>>(false);
    // At least one batch, from which the fields are learned.
    auto data =
        count(lanes * per_lane + chance() % (chance() % 2 == 0 ? 60 : 900)).filter(key_hash(100));
    for (auto n = chance() % 4; n > 0; --n)
      data = extended(data, chance, lanes, on, probes, fails);
    const auto end = chance() % 2 == 0 ? epoch_end::drop : epoch_end::mask;
    try {
      plan = plan_of(data.batch(lanes * per_lane, {.lanes = lanes, .end = end}), nullptr);
    } catch (const error&) { // no sample is left, or a buffer has no item in some lane
    }
    *on = true;
  }
};

/// The outcome of an epoch.
struct epoch_run {
  std::uint64_t batches = 0;
  bool fails = false;
};

constexpr std::uint64_t epochs = 3;

/// Runs the batches of one rank, and calls `see` for everything that it opens or waits for.
class rank_run {
public:
  rank_run(const random_job& job, std::uint64_t rank, std::mt19937_64* chance)
      : job_(job), chance_(chance), function_(job.plan, std::make_shared<worker_record>()),
        order_(order_of_rank(*job.plan, epochs, rank, job.world_size)) {}

  batch_order& order() { return *order_; }

  /// The next batch, in `last()`. `waited` is called whenever it is not known yet.
  const planned_batch& open(const std::function<void()>& waited = [] {}) {
    while (!order_->open(batch_)) {
      waited();
      deal();
      REQUIRE((!probes_.empty() || order_->wants_to_run()));
      if (chance_ && !probes_.empty())
        close((*chance_)() % probes_.size());
      while (!chance_ && !probes_.empty())
        close(0);
    }
    return batch_;
  }

private:
  void deal() {
    for (;;) {
      const auto rows = chance_ ? 1 + (*chance_)() % 3 : 64;
      planned_batch probe;
      if (!order_->open_probe(probe, rows))
        return;
      probes_.push_back(std::make_unique<batch_slot>(std::make_shared<batch_layout>(), rows));
      probes_.back()->open(probe, false);
    }
  }
  void close(std::size_t i) {
    for (std::size_t row = 0; row < probes_[i]->num_rows(); ++row)
      function_.run(probes_[i]->request(row), {}, probes_[i]->result(row));
    order_->close_probe(*probes_[i]);
    probes_.erase(probes_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const random_job& job_;
  std::mt19937_64* chance_;
  row_runner function_;
  std::unique_ptr<batch_order> order_;
  planned_batch batch_;
  std::vector<std::unique_ptr<batch_slot>> probes_;
};

/// Whether a rank ends an epoch by itself: under mask, several ranks end it when they have agreed.
bool ends_itself(const random_job& job) {
  return job.world_size == 1 || job.plan->shape.end == epoch_end::drop;
}

/// The epochs of a rank according to the rows of its batches, independently of its horizons.
std::map<std::uint64_t, epoch_run> true_epochs(const random_job& job, std::uint64_t rank) {
  constexpr std::uint64_t long_enough = 2000; // more items than any lane has
  rank_run x{job, rank, nullptr};
  std::map<std::uint64_t, epoch_run> result;
  for (;;) {
    const auto& batch = x.open();
    const auto& plan = batch.plan;
    if (plan.what == batch_plan::kind::end)
      return result;
    auto& epoch = result[plan.epoch];
    epoch.fails =
        plan.what == batch_plan::kind::failed && plan.failure->code() != errc::empty_epoch;
    if (epoch.fails || batch.rows > 0)
      epoch.batches = plan.step + 1;
    if (plan.what == batch_plan::kind::failed || (!ends_itself(job) && plan.step == long_enough))
      x.order().begin_epoch(plan.epoch + 1);
  }
}

/// Checks that what a rank reports of an epoch only rises, up to the truth.
class horizon_check {
public:
  explicit horizon_check(const std::map<std::uint64_t, epoch_run>& truth) : truth_(truth) {}

  void see(std::uint64_t epoch, const epoch_horizon& said) {
    auto& last = said_[epoch];
    CAPTURE(epoch, last.batches, last.is_final, said.batches, said.is_final);
    REQUIRE(said.batches >= last.batches);
    if (last.is_final)
      REQUIRE(said == last);
    last = said;
    const auto& truth = truth_.at(epoch);
    REQUIRE(said.batches <= truth.batches);
    if (said.is_final) {
      REQUIRE(said.batches == truth.batches);
      REQUIRE_FALSE(truth.fails);
    }
  }

private:
  const std::map<std::uint64_t, epoch_run>& truth_;
  std::map<std::uint64_t, epoch_horizon> said_;
};

/// How many batches must be known when one is opened, if no operator probes: those for which the
/// items that may wait, more after each batch, are enough.
std::uint64_t due_horizon(const random_job& job, std::uint64_t opened, std::uint64_t step,
                          const epoch_run& truth) {
  const std::uint64_t least = job.world_size == 1 ? 2 : 4;
  const auto most = job.world_size == 1 ? 0 : 64 * job.per_lane + 1;
  const auto items =
      std::max(least * job.per_lane + 1, std::min((least + opened) * job.per_lane + 1, most));
  return std::min(truth.batches, step + items / job.per_lane);
}

TEST_CASE("epoch_horizon: rises as far as items go, and never beyond what the epoch has") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  int jobs = 0;
  int failures = 0;
  for (int round = 0; round < 700; ++round) {
    CAPTURE(round);
    const random_job job{chance};
    if (!job.plan)
      continue;
    ++jobs;
    for (std::uint64_t rank = 0; rank < job.world_size; ++rank) {
      CAPTURE(rank, job.world_size, job.lanes, job.per_lane);
      const auto truth = true_epochs(job, rank);
      horizon_check check{truth};
      rank_run x{job, rank, &chance};
      std::uint64_t opened = 0;
      for (;;) {
        const auto next = x.order().next();
        const auto before = x.order().horizon();
        if (next.epoch < epochs)
          check.see(next.epoch, before);
        const auto& batch = x.open([&] {
          REQUIRE(x.order().next() == next);
          check.see(next.epoch, x.order().horizon());
        });
        const auto& plan = batch.plan;
        if (plan.what == batch_plan::kind::end) {
          REQUIRE(before == epoch_horizon{});
          REQUIRE(next == job_position{epochs, 0});
          break;
        }
        REQUIRE(job_position{plan.epoch, plan.step} == next);
        check.see(next.epoch, x.order().next() == next ? x.order().horizon() : plan.horizon);
        if (plan.what == batch_plan::kind::failed) {
          ++failures;
          break;
        }
        REQUIRE((batch.rows > 0) == (plan.step < truth.at(plan.epoch).batches));
        if (!job.probes && !truth.at(plan.epoch).fails)
          REQUIRE(plan.horizon.batches
                  >= due_horizon(job, opened, plan.step, truth.at(plan.epoch)));
        ++opened;
        const bool is_last =
            plan.horizon.is_final && plan.step + 1 >= plan.horizon.batches && ends_itself(job);
        REQUIRE(x.order().next()
                == (is_last ? job_position{plan.epoch + 1, 0}
                            : job_position{plan.epoch, plan.step + 1}));
        if (!is_last)
          REQUIRE(x.order().horizon() == plan.horizon); // nothing has run in between
        // Other ranks have ended, or end later.
        const bool may_end =
            !ends_itself(job) && plan.horizon.is_final && plan.step >= plan.horizon.batches + 2;
        if (may_end || (job.world_size > 1 && chance() % 40 == 0))
          x.order().begin_epoch(plan.epoch + 1);
      }
    }
  }
  // The generator has produced enough cases of each kind.
  CHECK(jobs > 400);
  CHECK(failures > 20);
}

TEST_CASE("epoch_horizon: an indexed order tells the whole epoch, and one without end has no end") {
  auto plan = noisy_plan(50, 8, {.end = epoch_end::mask});
  auto order = order_of_rank(*plan, 2, 1, 3);
  planned_batch batch;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (std::uint64_t step = 0; step < 7; ++step) {
      CHECK(order->next() == job_position{epoch, step});
      CHECK(order->horizon() == epoch_horizon{7, true});
      REQUIRE(order->open(batch));
      CHECK(batch.plan.horizon == epoch_horizon{7, true});
    }
  CHECK(order->next() == job_position{2, 0});
  CHECK(order->horizon() == epoch_horizon{});
  plan = noisy_plan(50, 8, {.end = epoch_end::cycle});
  CHECK(order_of_rank(*plan, 1)->horizon() == endless_horizon);
  const auto endless = count(9).filter(key_hash(100)).batch(2, {.end = epoch_end::cycle});
  order = order_of_rank(*plan_of(endless, nullptr), 1);
  CHECK(order->horizon() == endless_horizon);
  REQUIRE(order->open(batch));
  CHECK(batch.plan.horizon == endless_horizon);
}

/// How often ranks agree on an epoch, and how many batches it has, if all run in step.
std::pair<std::uint64_t, std::uint64_t> agreements(const random_job& job) {
  std::vector<std::unique_ptr<rank_run>> ranks;
  std::vector<epoch_end_agreement> ends;
  std::vector<epoch_agreement> said(job.world_size);
  std::vector<std::uint64_t> asked(job.world_size);
  for (std::uint64_t r = 0; r < job.world_size; ++r) {
    ranks.push_back(std::make_unique<rank_run>(job, r, nullptr));
    ends.emplace_back(job.plan->shape, job.world_size, [&, r](const epoch_agreement& mine) {
      REQUIRE(mine.batches == said[r].batches);
      ++asked[r];
      return said;
    });
  }
  for (std::uint64_t step = 0;; ++step) {
    std::vector<batch_plan> plans;
    for (std::uint64_t r = 0; r < job.world_size; ++r) {
      plans.push_back(ranks[r]->open().plan);
      const auto& x = plans.back().horizon;
      said[r] = {static_cast<std::int64_t>(x.batches), x.is_final ? 1 : 0, 0};
    }
    std::vector<bool> last;
    for (std::uint64_t r = 0; r < job.world_size; ++r)
      last.push_back(ends[r].settle(plans[r], {.next = {0, step}, .global_step = step}));
    for (std::uint64_t r = 1; r < job.world_size; ++r) {
      REQUIRE(asked[r] == asked[0]);
      REQUIRE(last[r] == last[0]);
    }
    if (last[0])
      return {asked[0], step + 1};
  }
}

random_job numbers_of(std::uint64_t records, std::uint64_t world_size, std::uint64_t per_lane,
                      epoch_end end, bool probes) {
  std::mt19937_64 none;
  random_job job{none};
  job.lanes = 8;
  job.per_lane = per_lane;
  job.world_size = world_size;
  const auto keep = probes ? field_hash("value", 90) : key_hash(90);
  job.plan =
      plan_of(count(records).filter(keep).batch(8 * per_lane, {.lanes = 8, .end = end}), nullptr);
  return job;
}

TEST_CASE("epoch_horizon: ranks agree once for 64 batches, or for three where content is probed") {
  for (const auto end : {epoch_end::drop, epoch_end::mask})
    for (const std::uint64_t world_size : {2, 4, 8})
      for (const std::uint64_t per_lane : {1, 3}) {
        CAPTURE(end, world_size, per_lane);
        const auto [asked, batches] =
            agreements(numbers_of(9000 * per_lane, world_size, per_lane, end, false));
        CHECK(batches > 900);
        CHECK(asked <= (batches + 62) / 63 + 6);
        CHECK(asked >= batches / 64);
        const auto [probed, with_probes] =
            agreements(numbers_of(900 * per_lane, world_size, per_lane, end, true));
        CHECK(with_probes > 90);
        CHECK(probed <= with_probes);
      }
}

TEST_CASE("epoch_horizon: states of lanes are the same, however far iterators have run ahead") {
  for (const auto end : {epoch_end::drop, epoch_end::mask}) {
    const auto data = count(20'000)
                          .filter(key_hash(80))
                          .shuffle_buffer(800, 5)
                          .batch(16, {.lanes = 8, .end = end});
    const auto plan = plan_of(data, nullptr);
    const auto near = order_of_rank(*plan, 1);
    const auto far = order_of_rank(*plan, 1, 1, 2);
    planned_batch of_all;
    planned_batch of_rank;
    std::size_t bases = 0;
    for (int step = 0; step < 800; ++step) {
      REQUIRE(near->open(of_all));
      REQUIRE(far->open(of_rank));
      if (step > 80 && step < 700)
        REQUIRE(of_rank.plan.horizon.batches == of_all.plan.horizon.batches + 62);
      for (const auto& x : *of_rank.plan.lanes) {
        const auto& y = of_all.plan.lanes->at(x.lane);
        REQUIRE(x.mark.consumed == y.mark.consumed);
        REQUIRE((x.mark.base == nullptr) == (y.mark.base == nullptr));
        if (!x.mark.base)
          continue;
        ++bases;
        REQUIRE(x.mark.base->given == y.mark.base->given);
        REQUIRE(x.mark.consumed - x.mark.base->given <= 64);
        REQUIRE(x.mark.base->state.bytes() == y.mark.base->state.bytes());
      }
    }
    CHECK(bases > 2000);
  }
}

/// Reads numbered records, and counts all that were read.
class counted_reader final : public sequential_reader {
public:
  counted_reader(std::shared_ptr<std::uint64_t> reads, std::uint64_t records)
      : reads_(std::move(reads)), left_(records) {}
  bool next(sample& into) override {
    if (left_ == 0)
      return false;
    --left_;
    ++*reads_;
    into.set("n", left_);
    return true;
  }

private:
  std::shared_ptr<std::uint64_t> reads_;
  std::uint64_t left_;
};

TEST_CASE("epoch_horizon: samples that travel with their items are not read further ahead") {
  const auto reads = std::make_shared<std::uint64_t>(0);
  const auto data = sequential("numbers@1", 4, [reads](auto) {
                      return std::make_unique<counted_reader>(reads, 500);
                    }).batch(8, {.lanes = 4, .end = epoch_end::mask});
  const auto plan = plan_of(data, nullptr);
  *reads = 0;
  const auto order = order_of_rank(*plan, 1, 0, 2);
  planned_batch batch;
  std::uint64_t taken = 0;
  for (int i = 0; i < 200; ++i) {
    REQUIRE(order->open(batch));
    REQUIRE(batch.rows == 4);
    // Two lanes, in each 4 batches of 2 and one item more.
    REQUIRE(*reads - taken <= 2 * 9);
    taken += batch.rows;
    REQUIRE(batch.plan.horizon == epoch_horizon{batch.plan.step + 5, false});
  }
}

} // namespace
} // namespace leat::epoch_horizon_test
