#include "actors/dispatcher.hpp"
#include "tests/support/actor_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stage_probes.hpp"

namespace leat::dispatcher_test {
namespace {

using namespace std::chrono_literals;

using ids = std::vector<std::uint32_t>;

/// Throws from the member that is to fail.
class fragile_order final : public batch_order {
public:
  fragile_order(std::unique_ptr<batch_order> real, const std::string& broken)
      : real_(std::move(real)), broken_(broken) {}

  bool open(planned_batch& batch) override { return real_->open(batch); }
  void begin_epoch(std::uint64_t epoch) override {
    check("begin_epoch");
    real_->begin_epoch(epoch);
  }
  job_position next() const noexcept override { return real_->next(); }
  epoch_horizon horizon() const override { return real_->horizon(); }
  bool open_probe(planned_batch& probe, std::size_t) override {
    check("open_probe");
    if (broken_ != "close_probe" || std::exchange(has_probed_, true))
      return false;
    probe.plan = {.what = batch_plan::kind::probe};
    probe.rows = 0; // complete at once
    return true;
  }
  void close_probe(batch_slot&) override { check("close_probe"); }

private:
  void check(const std::string& where) const {
    if (broken_ == where)
      throw std::runtime_error(where + " broke");
  }

  std::unique_ptr<batch_order> real_;
  const std::string& broken_;
  bool has_probed_ = false;
};

struct fixture {
  deterministic_system actors;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  worker_board board;
  std::vector<std::pair<std::size_t, bool>> made;
  std::shared_ptr<told> seen = std::make_shared<told>();
  std::string broken;
  /// Of workers that are made from now on.
  worker_drill drill;
  std::shared_ptr<job_plan> plan = noisy_plan(8, 4);
  batcher_actor batcher = actors.system().spawn(batcher_probe, seen);
  dispatcher_actor uut;
  int lent_rows_taken = 0;

  explicit fixture(dispatch_policy policy = dispatch_policy::round_robin) {
    dispatcher_config config{.order =
                                 std::make_shared<fragile_order>(order_of_rank(*plan, 1), broken),
                             .policy = {plan->shape.lanes, 1, policy},
                             .workers = 2,
                             .make_worker =
                                 [this](std::size_t number, bool replaces) {
                                   if (broken == "make_worker")
                                     throw std::runtime_error("make_worker broke");
                                   made.emplace_back(number, replaces);
                                   return worker_config{plan, board.add(number), drill, lives};
                                 },
                             .alive = lives,
                             .taken = std::make_shared<listener>([this] { ++lent_rows_taken; })};
    uut = actors.system().spawn(dispatcher, config);
    tell(start_atom_v, batcher);
  }

  ~fixture() {
    caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(batcher, caf::exit_reason::user_shutdown);
    uut = nullptr;
    batcher = nullptr;
    *seen = {};
    actors.run();
  }

  template <class... Ts>
  void tell(Ts... xs) {
    caf::anon_send(uut, xs...);
    actors.run();
  }

  slot_ptr deal() {
    auto slot = std::make_shared<batch_slot>(plan->layout, 4);
    tell(deal_atom_v, slot);
    return slot;
  }

  /// A batch that is dealt, while the workers have not begun.
  slot_ptr dealt() {
    auto slot = std::make_shared<batch_slot>(plan->layout, 4);
    caf::anon_send(uut, deal_atom_v, slot);
    REQUIRE(actors.step_of(uut));
    return slot;
  }

  /// Its rows are lost.
  void kill(std::size_t worker) {
    const auto victim = caf::actor_cast<caf::strong_actor_ptr>(
        state_of<dispatcher_state>(uut).workers().at(worker));
    victim->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                    caf::make_message(caf::exit_msg{victim->address(), caf::exit_reason::kill}),
                    nullptr);
    actors.run();
  }

  ids owners(batch_slot& slot) const {
    ids result;
    for (std::size_t i = 0; i < slot.num_rows(); ++i)
      result.push_back(slot.holder(i).owner - 1);
    return result;
  }
};

using making = std::vector<std::pair<std::size_t, bool>>;

TEST_CASE_METHOD(fixture, "dispatcher: batches are numbered, dealt and run, until the end") {
  CHECK(made == making{{0, false}, {1, false}});
  auto first = deal();
  CHECK(seen->to_batcher == 1);
  auto second = deal();
  CHECK(seen->to_batcher == 2);
  auto end = deal();
  CHECK(seen->to_batcher == 3);
  CHECK(first->plan().step == 0);
  CHECK(second->plan().step == 1);
  CHECK(second->plan().end_of_epoch);
  CHECK(owners(*first) == ids{0, 1, 0, 1});
  CHECK(end->plan().what == batch_plan::kind::end);
}

TEST_CASE_METHOD(fixture, "dispatcher: a lost worker is replaced, and its rows are dealt again") {
  auto slot = dealt();
  kill(0);
  CHECK(made.back() == std::pair<std::size_t, bool>{0, true});
  CHECK(owners(*slot) == ids{2, 1, 2, 1});
  CHECK(slot->complete());
  CHECK(owners(*deal()) == ids{2, 1, 2, 1});
}

struct claiming_fixture : fixture {
  claiming_fixture() : fixture(dispatch_policy::on_demand) {}
};

TEST_CASE_METHOD(claiming_fixture,
                 "dispatcher: whoever takes lent rows in a dead worker's place says so at once") {
  const auto slot = dealt();
  REQUIRE(slot->claim_last(slot->ticket(), slot->num_rows(), 2).size() == 2);
  actors.run(); // workers make the other rows, and wait for these
  CHECK_FALSE(slot->complete());
  CHECK(lent_rows_taken == 0);
  kill(0);
  CHECK(slot->complete());
  CHECK(lent_rows_taken == 2);
}

TEST_CASE_METHOD(fixture, "dispatcher: the batcher hears of each death, and may find a batch") {
  kill(0);
  CHECK(seen->to_batcher == 1);
  drill.die_at = 3;
  kill(1);
  CHECK(seen->to_batcher == 2);
  auto slot = deal();
  CHECK(made.size() == 6); // two died over row 3
  CHECK(slot->complete());
  CHECK(seen->to_batcher == 4);
}

TEST_CASE_METHOD(fixture, "dispatcher: what a retired worker leaves goes to any other") {
  auto slot = dealt();
  caf::anon_send(uut, resize_atom_v, std::uint64_t{1});
  REQUIRE(actors.step_of(uut));
  CHECK(state_of<dispatcher_state>(uut).workers().size() == 2);
  kill(1);
  CHECK(made.size() == 2);
  CHECK(owners(*slot) == ids{0, 0, 0, 0});
  CHECK(slot->complete());
  CHECK(state_of<dispatcher_state>(uut).workers().size() == 1);
  CHECK(owners(*deal()) == ids{0, 0, 0, 0});
}

TEST_CASE_METHOD(fixture, "dispatcher: a retired worker finishes what it has") {
  auto slot = dealt();
  tell(resize_atom_v, std::uint64_t{1});
  CHECK(owners(*slot) == ids{0, 1, 0, 1});
  CHECK(slot->complete());
  CHECK(state_of<dispatcher_state>(uut).workers().size() == 1);
}

TEST_CASE_METHOD(fixture, "dispatcher: more workers come with numbers of their own") {
  tell(resize_atom_v, std::uint64_t{4});
  CHECK(owners(*deal()) == ids{0, 1, 2, 3});
  tell(resize_atom_v, std::uint64_t{1});
  tell(resize_atom_v, std::uint64_t{2});
  CHECK(board.num_workers() == 5); // ids are not used twice
  CHECK(made.back() == std::pair<std::size_t, bool>{1, false});
}

TEST_CASE_METHOD(fixture, "dispatcher: what a handler throws reaches the batcher with its text") {
  const auto slot = std::make_shared<batch_slot>(plan->layout, 4);
  const std::vector<std::pair<std::string, std::function<void()>>> handlers{
      {"begin_epoch", [&] { tell(epoch_atom_v, std::uint64_t{1}); }},
      {"open_probe", [&] { tell(run_atom_v); }},
      {"open_probe", [&] { tell(deal_atom_v, slot); }},
      {"close_probe",
       [&] {
         tell(run_atom_v);
         tell(complete_atom_v);
       }},
      {"make_worker", [&] { tell(resize_atom_v, std::uint64_t{3}); }},
      {"make_worker", [&] { kill(0); }},
  };
  const auto which = GENERATE(range(0, 6));
  const auto& [where, call] = handlers[static_cast<std::size_t>(which)];
  CAPTURE(where, which);
  broken = where;
  call();
  REQUIRE(seen->failures.size() == 1);
  CHECK(seen->failures[0].details().got == where + " broke");
  broken.clear();
  deal(); // nothing is dealt any more, and one failure is enough
  CHECK(seen->failures.size() == 1);
  CHECK(seen->to_batcher == (where == "open_probe" && which == 2 ? 1U : 0U));
}

TEST_CASE_METHOD(fixture, "dispatcher: its end takes the workers along") {
  CHECK_FALSE(lives->wait_for_none(0s));
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  actors.run();
  CHECK(lives->wait_for_none(0s));
}

} // namespace
} // namespace leat::dispatcher_test
