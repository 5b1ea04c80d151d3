#include "actors/batcher.hpp"
#include "actors/checkpoint.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/blocking_queue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/stage_probes.hpp"
#include "tests/support/temporary_directory.hpp"

#include <new>

// Code that must report a failure can do so without any memory, so that no thread waits for ever.

namespace {

/// For this thread.
thread_local bool memory_is_gone = false;

} // namespace

// Replaces the library's function in the whole process.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (!memory_is_gone)
    if (auto* x = std::malloc(size == 0 ? 1 : size))
      return x;
  throw std::bad_alloc{};
}

[[gnu::noinline]] void operator delete(void* x) noexcept {
  std::free(x);
}

[[gnu::noinline]] void operator delete(void* x, std::size_t) noexcept {
  std::free(x);
}

namespace leat::no_memory_test {
namespace {

/// This thread has no memory as long as this lives, or until found().
class no_memory {
public:
  no_memory() { memory_is_gone = true; }
  ~no_memory() { found(); }
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;

  static void found() { memory_is_gone = false; }
};

TEST_CASE("no memory: the error in flight is one all the same") {
  std::optional<error> got;
  try {
    throw error(errc::torn_file, {.stage = "a stage", .got = std::string(100, 'x')});
  } catch (...) {
    const no_memory now;
    got = error_in_flight(errc::io, {.stage = "batcher"});
  }
  REQUIRE(got);
  CHECK(got->code() == errc::no_resources);
  CHECK(got->details().got == "no more memory");
}

TEST_CASE("no memory: what is handed over has its place") {
  blocking_queue<std::shared_ptr<int>> x;
  const auto value = std::make_shared<int>(7);
  for (int round = 0; round < 3; ++round) {
    {
      const no_memory now;
      for (std::size_t i = 0; i < x.places; ++i)
        x.push(value);
    }
    for (std::size_t i = 0; i < x.places; ++i)
      CHECK(x.try_pop() == value);
  }
  CHECK_FALSE(x.try_pop());
}

TEST_CASE("no memory: a snapshot that could not be stored is reported") {
  test::temporary_directory at;
  const save_request request{at / "snapshots", std::make_shared<const snapshot>(), 1};
  std::optional<save_report> report;
  {
    const no_memory now;
    report = store(request);
  }
  REQUIRE(report->problem);
  CHECK(report->problem->code() == errc::no_resources);
}

TEST_CASE("no memory: the trainer hears of a batch that could not be handed over") {
  deterministic_system actors;
  const auto lives = std::make_shared<gate>();
  std::vector<slot_ptr> finished;
  finished.reserve(10);
  bool has_failed = false;
  auto dispatcher = actors.system().spawn(dispatcher_probe, std::make_shared<told>());
  auto uut = actors.system().spawn(
      batcher, dispatcher,
      [&](slot_ptr slot) {
        if (!std::exchange(has_failed, true)) {
          memory_is_gone = true;
          throw std::bad_alloc{};
        }
        no_memory::found();
        finished.push_back(std::move(slot));
      },
      lives);
  const auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 1);
  caf::anon_send(uut, free_atom_v, slot);
  actors.run();
  open_rows(*slot, 1);
  REQUIRE(slot->finish(0));
  caf::anon_send(uut, complete_atom_v);
  actors.run();
  no_memory::found();
  // Also those to come.
  caf::anon_send(uut, free_atom_v, slot);
  actors.run();
  CHECK(finished.size() == 2);
  for (const auto& x : finished) {
    CHECK(x != slot);
    CHECK(x->plan().what == batch_plan::kind::failed);
    REQUIRE(x->plan().failure);
    CHECK(x->plan().failure->code() == errc::no_resources);
  }
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(dispatcher, caf::exit_reason::user_shutdown);
  uut = nullptr;
  dispatcher = nullptr;
  actors.run();
}

} // namespace
} // namespace leat::no_memory_test
