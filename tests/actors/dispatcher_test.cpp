#include "actors/dispatcher.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/small_job.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace leat::dispatcher_test {
namespace {

using namespace std::chrono_literals;

/// What the dispatcher told the batcher.
struct told {
  struct inheritance {
    std::uint32_t dead;
    std::uint32_t heir;
    worker_actor worker;
  };

  std::vector<std::uint32_t> watch;
  std::vector<worker_actor> workers;
  std::vector<slot_ptr> complete;
  std::vector<inheritance> inherit;
  std::vector<error> failures;
};

batcher_actor::behavior_type batcher_probe(batcher_actor::pointer, std::shared_ptr<told> seen) {
  return {
      [](free_atom, const slot_ptr&) {},
      [seen](complete_atom, const slot_ptr& slot) { seen->complete.push_back(slot); },
      [](probe_atom, const slot_ptr&) {},
      [seen](watch_atom, std::uint32_t id, const worker_actor& worker) {
        seen->watch.push_back(id);
        seen->workers.push_back(worker);
      },
      [seen](inherit_atom, std::uint32_t dead, std::uint32_t heir, const worker_actor& worker) {
        seen->inherit.push_back({dead, heir, worker});
      },
      [seen](fail_atom, const error_ptr& problem) { seen->failures.push_back(*problem); },
  };
}

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
  bool open_probe(planned_batch&, std::size_t) override {
    check("open_probe");
    return false;
  }
  void close_probe(batch_slot&) override { check("close_probe"); }

private:
  void check(const std::string& where) const {
    if (broken_ == where)
      throw std::runtime_error(where + " broke");
  }

  std::unique_ptr<batch_order> real_;
  const std::string& broken_;
};

struct fixture {
  deterministic_system actors;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  worker_board board;
  std::vector<std::pair<std::size_t, bool>> made;
  std::shared_ptr<told> seen = std::make_shared<told>();
  std::string broken;
  std::shared_ptr<job_plan> plan = noisy_plan(8, 4);
  batcher_actor batcher = actors.system().spawn(batcher_probe, seen);
  dispatcher_actor uut;

  fixture() {
    dispatcher_config config{.order =
                                 std::make_shared<fragile_order>(order_of_rank(*plan, 1), broken),
                             .policy = {plan->shape.lanes, 1, dispatch_policy::round_robin},
                             .workers = 2,
                             .make_worker =
                                 [this](std::size_t number, bool replaces) {
                                   if (broken == "make_worker")
                                     throw std::runtime_error("make_worker broke");
                                   made.emplace_back(number, replaces);
                                   return worker_config{plan, board.add(number), {}, lives};
                                 },
                             .alive = lives};
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

  ids owners(batch_slot& slot) const {
    ids result;
    for (std::size_t i = 0; i < slot.num_rows(); ++i)
      result.push_back(slot.holder(i).owner - 1);
    return result;
  }
};

TEST_CASE_METHOD(fixture, "dispatcher: it spawns its workers and tells the batcher of each") {
  CHECK(seen->watch == ids{0, 1});
  CHECK(made == std::vector<std::pair<std::size_t, bool>>{{0, false}, {1, false}});
}

TEST_CASE_METHOD(fixture, "dispatcher: batches are numbered, dealt and run, until the end") {
  auto first = deal();
  auto second = deal();
  auto end = deal();
  CHECK(first->plan().step == 0);
  CHECK(second->plan().step == 1);
  CHECK(second->plan().end_of_epoch);
  CHECK(owners(*first) == ids{0, 1, 0, 1});
  CHECK(end->plan().what == batch_plan::kind::end);
  CHECK(seen->complete == std::vector<slot_ptr>{first, second, end});
}

TEST_CASE_METHOD(fixture, "dispatcher: a lost worker is replaced before its heir is named") {
  tell(lost_atom_v, std::uint32_t{0});
  CHECK(seen->watch == ids{0, 1, 2});
  CHECK(made.back() == std::pair<std::size_t, bool>{0, true});
  REQUIRE(seen->inherit.size() == 1);
  CHECK(seen->inherit[0].dead == 0);
  CHECK(seen->inherit[0].heir == 2);
  CHECK(seen->inherit[0].worker == seen->workers[2]);
  CHECK(owners(*deal()) == ids{2, 1, 2, 1});
}

TEST_CASE_METHOD(fixture,
                 "dispatcher: a retired worker gets nothing more, and any other inherits") {
  tell(resize_atom_v, std::uint64_t{1});
  CHECK(owners(*deal()) == ids{0, 0, 0, 0});
  tell(lost_atom_v, std::uint32_t{1});
  CHECK(seen->watch == ids{0, 1});
  REQUIRE(seen->inherit.size() == 1);
  CHECK(seen->inherit[0].dead == 1);
  CHECK(seen->inherit[0].heir == 0);
}

TEST_CASE_METHOD(fixture, "dispatcher: a retired worker finishes what it has") {
  auto slot = std::make_shared<batch_slot>(plan->layout, 4);
  caf::anon_send(uut, deal_atom_v, slot);
  caf::anon_send(uut, resize_atom_v, std::uint64_t{1});
  REQUIRE(actors.step_of(uut));
  REQUIRE(actors.step_of(uut)); // before the workers begin
  actors.run();
  CHECK(owners(*slot) == ids{0, 1, 0, 1});
  CHECK(slot->complete());
}

TEST_CASE_METHOD(fixture, "dispatcher: more workers come with numbers of their own") {
  tell(resize_atom_v, std::uint64_t{4});
  CHECK(seen->watch == ids{0, 1, 2, 3});
  CHECK(owners(*deal()) == ids{0, 1, 2, 3});
  tell(resize_atom_v, std::uint64_t{1});
  tell(resize_atom_v, std::uint64_t{2});
  CHECK(seen->watch == ids{0, 1, 2, 3, 4}); // ids are not used twice
  CHECK(made.back() == std::pair<std::size_t, bool>{1, false});
}

TEST_CASE_METHOD(fixture, "dispatcher: what a handler throws reaches the batcher with its text") {
  const auto slot = std::make_shared<batch_slot>(plan->layout, 4);
  const std::vector<std::pair<std::string, std::function<void()>>> handlers{
      {"begin_epoch", [&] { tell(epoch_atom_v, std::uint64_t{1}); }},
      {"open_probe", [&] { tell(run_atom_v); }},
      {"open_probe", [&] { tell(deal_atom_v, slot); }},
      {"close_probe", [&] { tell(probe_atom_v, slot); }},
      {"make_worker", [&] { tell(resize_atom_v, std::uint64_t{3}); }},
      {"make_worker", [&] { tell(lost_atom_v, std::uint32_t{0}); }},
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
  CHECK(seen->complete.size() == (where == "open_probe" && which == 2 ? 1U : 0U));
}

TEST_CASE_METHOD(fixture, "dispatcher: its end takes the workers along") {
  CHECK_FALSE(lives->wait_for_none(0s));
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  actors.run();
  CHECK(lives->wait_for_none(0s));
}

} // namespace
} // namespace leat::dispatcher_test
