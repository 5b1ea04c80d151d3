#include "actors/worker.hpp"
#include "runtime/rows/row_assignment.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stage_probes.hpp"

namespace leat::worker_test {
namespace {

using namespace std::chrono_literals;

struct fixture {
  deterministic_system actors;
  run_counts counts;
  std::shared_ptr<job_plan> plan = noisy_plan(8, 8, {}, &counts);
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  worker_board board;
  std::shared_ptr<worker_record> record = board.add(0);
  std::shared_ptr<told> seen = std::make_shared<told>();
  batcher_actor batcher = actors.system().spawn(batcher_probe, seen);
  dispatcher_actor dispatcher = actors.system().spawn(dispatcher_probe, seen);
  std::unique_ptr<batch_order> order = order_of_rank(*plan, 9);
  slot_ptr slot = std::make_shared<batch_slot>(plan->layout, 8);
  worker_actor uut;

  fixture() { open_next(*order, *slot, true); }

  ~fixture() {
    for (auto x : {caf::actor_cast<caf::actor>(uut), caf::actor_cast<caf::actor>(batcher),
                   caf::actor_cast<caf::actor>(dispatcher)})
      caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
    uut = nullptr;
    batcher = nullptr;
    dispatcher = nullptr;
    actors.run();
  }

  void start(worker_drill drill = {}) {
    uut = actors.system().spawn(worker, worker_config{plan, record, drill, lives}, batcher,
                                dispatcher);
    actors.run();
  }

  void send(std::vector<std::uint32_t> rows, bool claims) {
    auto work = chunk_of(slot);
    work.rows = std::move(rows);
    work.claims = claims;
    caf::anon_send(uut, std::move(work));
    actors.run();
  }

  bool lives_on() { return !lives->wait_for_none(0s); }

  /// Rows that are done, in order of number.
  std::vector<std::size_t> done() const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < slot->num_rows(); ++i)
      if (slot->holder(i).state == row_holder::phase::done)
        result.push_back(i);
    return result;
  }
};

using rows_t = std::vector<std::size_t>;

TEST_CASE_METHOD(fixture, "worker: it runs the rows dealt by name and no others") {
  start();
  send({1, 4}, false);
  CHECK(done() == rows_t{1, 4});
  CHECK(counts.size() == 2);
  CHECK(record->rows_dealt == 2);
  CHECK(record->rows_done == 2);
  CHECK(seen->to_batcher == 0);
}

TEST_CASE_METHOD(fixture, "worker: it claims rows until none is left, and tells of the last") {
  start();
  slot->claim(slot->ticket(), slot->num_rows(), 9, 1); // row 0 is another's
  send({}, true);
  CHECK(done() == rows_t{1, 2, 3, 4, 5, 6, 7});
  CHECK(seen->to_batcher == 0);
  CHECK(slot->holder(1).owner == record->id + 1);
  send({0}, true);
  CHECK(seen->to_batcher == 1);
  CHECK(counts.size() == 8);
}

TEST_CASE_METHOD(fixture, "worker: rows dealt by name come before claims") {
  start();
  slot->claim(slot->ticket(), slot->num_rows(), 9, 1);
  send({0}, true);
  CHECK(done().size() == 8);
  for (const auto& [row, times] : counts)
    CHECK(times == 1);
  CHECK(seen->to_batcher == 1);
  CHECK(seen->to_dispatcher == 0);
}

TEST_CASE_METHOD(fixture, "worker: the dispatcher hears of a probe's last row") {
  start();
  slot->finish(0);
  auto work = chunk_of(slot);
  work.rows = {1, 2, 3, 4, 5, 6, 7};
  work.is_batch = false;
  caf::anon_send(uut, work);
  actors.run();
  CHECK(seen->to_batcher == 0);
  CHECK(seen->to_dispatcher == 1);
}

TEST_CASE_METHOD(fixture, "worker: claims in a slot that was opened again find nothing") {
  start();
  auto late = chunk_of(slot);
  late.claims = true;
  open_next(*order, *slot, true);
  caf::anon_send(uut, late);
  actors.run();
  CHECK(done().empty());
  CHECK(counts.empty());
}

TEST_CASE_METHOD(fixture, "worker: a drill kills it at the row, which is begun and not done") {
  start({.die_at = 3});
  send({}, true);
  CHECK_FALSE(lives_on());
  CHECK(done() == rows_t{0, 1, 2});
  CHECK(slot->holder(3).state == row_holder::phase::begun);
  CHECK(slot->holder(3).owner == record->id + 1);
  CHECK(slot->holder(4).state == row_holder::phase::dealt);
  CHECK(record->since_ns == 0); // it is not stuck
}

TEST_CASE_METHOD(fixture, "worker: it retires after its work") {
  start();
  auto work = chunk_of(slot);
  work.claims = true;
  caf::anon_send(uut, work);
  caf::anon_send(uut, retire_atom_v);
  actors.run();
  CHECK(done().size() == 8);
  CHECK_FALSE(lives_on());
}

TEST_CASE_METHOD(fixture, "worker: once the loader ends it begins no further row") {
  start();
  plan->cancelled->store(true);
  send({0}, true);
  CHECK(done().empty());
  CHECK(counts.empty());
  CHECK(lives_on());
}

TEST_CASE_METHOD(fixture, "worker: times and counts tell what it did") {
  start();
  CHECK(record->busy_ns == 0);
  send({}, true);
  CHECK(record->rows_done == 8);
  CHECK(record->busy_ns > 0);
  CHECK(record->since_ns == 0);
}

} // namespace
} // namespace leat::worker_test
