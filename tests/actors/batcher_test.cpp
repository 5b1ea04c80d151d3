#include "actors/batcher.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/stage_probes.hpp"

namespace leat::batcher_test {
namespace {

using namespace std::chrono_literals;

using slots = std::vector<slot_ptr>;

/// The test itself plays dispatcher and workers: it opens slots and finishes rows by hand.
struct fixture {
  deterministic_system actors;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  std::shared_ptr<told> seen = std::make_shared<told>();
  slots finished;
  dispatcher_actor dispatcher = actors.system().spawn(dispatcher_probe, seen);
  batcher_actor uut = actors.system().spawn(
      batcher, dispatcher, [this](slot_ptr slot) { finished.push_back(std::move(slot)); }, lives);

  ~fixture() {
    caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(dispatcher, caf::exit_reason::user_shutdown);
    uut = nullptr;
    dispatcher = nullptr;
    actors.run();
  }

  template <class... Ts>
  void tell(Ts... xs) {
    caf::anon_send(uut, xs...);
    actors.run();
  }

  /// A free slot whose batch was opened with so many rows.
  slot_ptr begun(std::size_t rows) {
    auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), rows);
    tell(free_atom_v, slot);
    open_rows(*slot, rows);
    return slot;
  }

  void finish(const slot_ptr& slot, std::size_t row) {
    if (slot->finish(row))
      tell(complete_atom_v);
  }
};

TEST_CASE_METHOD(fixture, "batcher: a free slot goes to the dispatcher, as not yet open") {
  auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 2);
  open_rows(*slot, 0);
  slot->release();
  tell(free_atom_v, slot);
  CHECK(seen->dealt == slots{slot});
  CHECK_FALSE(slot->complete());
  tell(complete_atom_v); // of an earlier opening
  CHECK(finished.empty());
}

TEST_CASE_METHOD(fixture, "batcher: batches leave in the order in which they began") {
  auto a = begun(1);
  auto b = begun(1);
  auto c = begun(1);
  finish(c, 0);
  finish(b, 0);
  CHECK(finished.empty());
  finish(a, 0);
  CHECK(finished == slots{a, b, c});
  CHECK(a->summary().num_valid == 1);
}

TEST_CASE_METHOD(fixture, "batcher: a dead dispatcher fails all batches, those to come too") {
  const auto first = begun(1);
  const auto second = begun(1);
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
  begun(1);
  begun(1);
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
  std::weak_ptr<batch_slot> slot = begun(1);
  seen->dealt.clear();
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  actors.run();
  CHECK(lives->wait_for_none(0s));
  CHECK(slot.expired());
}

} // namespace
} // namespace leat::batcher_test
