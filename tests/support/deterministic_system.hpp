#pragma once

#include "messages/fwd.hpp"
#include "tests/support/standard.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

namespace leat {

/// Runs actors one message at a time in the test's own thread, in an order that the test chooses,
/// without sleeps or a clock. Messages from one sender to one receiver keep their order. All actors
/// must be gone before it is destroyed.
class deterministic_system {
public:
  caf::actor_system& system() noexcept { return system_; }

  /// Actors that have a message waiting.
  std::size_t ready() const noexcept { return scheduler_.jobs.size(); }

  /// Lets the actor that has waited longest take one message. False if none is ready.
  bool step() { return scheduler_.try_run_once(); }

  /// Lets any actor take one message.
  bool step(std::mt19937_64& chance) {
    auto& jobs = scheduler_.jobs;
    if (!jobs.empty())
      std::swap(jobs.front(), jobs[chance() % jobs.size()]);
    return step();
  }

  /// Lets this actor take one message. False if it has none.
  template <class Handle>
  bool step_of(const Handle& actor) {
    return scheduler_.prioritize(actor) && step();
  }

  /// Runs until every mailbox is empty.
  void run() {
    while (step())
      ;
  }

private:
  struct configuration : caf::actor_system_config {
    configuration() {
      add_message_types<caf::id_block::leat>();
      set("scheduler.policy", caf::atom("testing"));
    }
  };

  configuration config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& scheduler_ =
      dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
};

} // namespace leat
