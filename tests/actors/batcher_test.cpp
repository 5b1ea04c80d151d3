#include "actors/batcher.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/slots.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <vector>

namespace leat::batcher_test {
namespace {

using namespace std::chrono_literals;

/// What the batcher told its neighbours.
struct told {
  std::vector<slot_ptr> deal;
  std::vector<std::uint32_t> lost;
  std::vector<chunk> heir;
};

dispatcher_actor::behavior_type dispatcher_probe(dispatcher_actor::pointer,
                                                 std::shared_ptr<told> seen) {
  return {
      [](start_atom, const batcher_actor&) {},
      [seen](deal_atom, const slot_ptr& slot) { seen->deal.push_back(slot); },
      [](probe_atom, const slot_ptr&) {},
      [](run_atom) {},
      [](epoch_atom, std::uint64_t) {},
      [](rewind_atom, std::uint64_t) {},
      [seen](lost_atom, std::uint32_t id) { seen->lost.push_back(id); },
      [](resize_atom, std::uint64_t) {},
  };
}

worker_actor::behavior_type worker_probe(worker_actor::pointer self, std::shared_ptr<told> seen) {
  return {
      [seen](const chunk& work) { seen->heir.push_back(work); },
      [self](retire_atom) { self->quit(); },
  };
}

/// The test itself plays dispatcher and workers: it opens slots and finishes rows by hand.
struct fixture {
  deterministic_system actors;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  std::shared_ptr<told> seen = std::make_shared<told>();
  std::vector<slot_ptr> finished;
  dispatcher_actor dispatcher = actors.system().spawn(dispatcher_probe, seen);
  batcher_actor uut = actors.system().spawn(
      batcher, dispatcher, [this](slot_ptr slot) { finished.push_back(std::move(slot)); }, lives);
  std::vector<worker_actor> workers;

  ~fixture() {
    for (const auto& x : workers)
      caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(dispatcher, caf::exit_reason::user_shutdown);
    workers.clear();
    uut = nullptr;
    dispatcher = nullptr;
    actors.run();
  }

  template <class... Ts>
  void tell(Ts... xs) {
    caf::anon_send(uut, xs...);
    actors.run();
  }

  /// A worker that the batcher monitors.
  worker_actor watched(std::uint32_t id) {
    workers.push_back(actors.system().spawn(worker_probe, seen));
    tell(watch_atom_v, id, workers.back());
    return workers.back();
  }

  /// A free slot whose batch was opened with rows of these workers.
  slot_ptr begun(const std::vector<std::uint32_t>& owners) {
    auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), owners.size());
    tell(free_atom_v, slot);
    open_rows(*slot, owners.size());
    for (std::size_t i = 0; i < owners.size(); ++i)
      slot->holder(i).owner = owners[i] + 1;
    return slot;
  }

  void finish(const slot_ptr& slot, std::size_t row) {
    if (slot->finish(row))
      tell(complete_atom_v, slot);
  }
};

TEST_CASE_METHOD(fixture, "batcher: a free slot goes to the dispatcher, as not yet open") {
  auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 2);
  open_rows(*slot, 0);
  slot->release();
  tell(free_atom_v, slot);
  CHECK(seen->deal == std::vector<slot_ptr>{slot});
  CHECK_FALSE(slot->complete());
  tell(complete_atom_v, slot); // of an earlier opening
  CHECK(finished.empty());
}

TEST_CASE_METHOD(fixture, "batcher: batches leave in the order in which they began") {
  auto a = begun({0});
  auto b = begun({0});
  auto c = begun({0});
  finish(c, 0);
  finish(b, 0);
  CHECK(finished.empty());
  finish(a, 0);
  CHECK(finished == std::vector<slot_ptr>{a, b, c});
  CHECK(a->summary().num_valid == 1);
}

TEST_CASE_METHOD(fixture, "batcher: it tells the dispatcher of each worker that is gone, once") {
  auto killed = watched(4);
  auto retired = watched(5);
  auto other = watched(6);
  caf::anon_send_exit(killed, caf::exit_reason::kill);
  actors.run();
  CHECK(seen->lost == std::vector<std::uint32_t>{4});
  caf::anon_send(retired, retire_atom_v);
  actors.run();
  CHECK(seen->lost == std::vector<std::uint32_t>{4, 5});
}

TEST_CASE_METHOD(fixture, "batcher: it hears of a worker that was dead before it could watch it") {
  workers.push_back(actors.system().spawn(worker_probe, seen));
  caf::anon_send_exit(workers.back(), caf::exit_reason::kill);
  actors.run();
  tell(watch_atom_v, std::uint32_t{7}, workers.back());
  CHECK(seen->lost == std::vector<std::uint32_t>{7});
}

TEST_CASE_METHOD(fixture, "batcher: the heir gets what the dead worker had, not what others have") {
  auto heir = watched(2);
  auto first = begun({0, 1, 0});
  auto second = begun({1, 1});
  finish(first, 0);
  tell(inherit_atom_v, std::uint32_t{0}, std::uint32_t{2}, heir);
  REQUIRE(seen->heir.size() == 1);
  CHECK(seen->heir[0].slot == first);
  CHECK(seen->heir[0].rows == std::vector<std::uint32_t>{2});
  CHECK(finished.empty());
}

TEST_CASE_METHOD(fixture, "batcher: what waited for a row that is given up leaves at once") {
  auto heir = watched(2);
  auto first = begun({0});
  auto second = begun({1});
  finish(second, 0);
  first->holder(0).deaths = 1;
  first->holder(0).state = row_holder::phase::begun;
  tell(inherit_atom_v, std::uint32_t{0}, std::uint32_t{2}, heir);
  CHECK(seen->heir.empty());
  CHECK(finished == std::vector<slot_ptr>{first, second});
  CHECK(first->plan().what == batch_plan::kind::failed);
}

TEST_CASE_METHOD(fixture, "batcher: a dead dispatcher fails all batches, those to come too") {
  const auto first = begun({0});
  const auto second = begun({0});
  caf::anon_send_exit(dispatcher, caf::exit_reason::kill);
  actors.run();
  REQUIRE(finished.size() == 2);
  for (const auto& slot : finished) {
    CHECK((slot != first && slot != second)); // workers may still write into those
    CHECK(slot->plan().what == batch_plan::kind::failed);
    REQUIRE(slot->plan().failure);
    CHECK(slot->plan().failure->code() == errc::worker_lost);
    CHECK(slot->plan().failure->details().stage == "dispatcher");
  }
  tell(free_atom_v, first);
  CHECK(finished.size() == 3);
}

TEST_CASE_METHOD(fixture,
                 "batcher: a dispatcher that cannot continue fails all batches with its error") {
  begun({0});
  begun({0});
  const error problem{errc::no_resources, {.stage = "worker 3", .got = "no thread"}};
  tell(fail_atom_v, std::make_shared<const error>(problem));
  REQUIRE(finished.size() == 2);
  tell(free_atom_v, std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 2));
  REQUIRE(finished.size() == 3);
  for (const auto& slot : finished) {
    REQUIRE(slot->plan().failure);
    CHECK(slot->plan().failure->code() == errc::no_resources);
    CHECK(std::string{slot->plan().failure->what()} == problem.what());
  }
}

TEST_CASE_METHOD(fixture, "batcher: it ends with an exit message and keeps no slot") {
  std::weak_ptr<batch_slot> slot = begun({0});
  seen->deal.clear();
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  actors.run();
  CHECK(lives->wait_for_none(0s));
  CHECK(slot.expired());
}

} // namespace
} // namespace leat::batcher_test
