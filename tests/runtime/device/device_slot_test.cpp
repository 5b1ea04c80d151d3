#include "runtime/device/device_slot.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/thrown_error.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace leat::device_slot_test {
namespace {

using test::bytes_of;
using test::bytes_of_batch;
using test::device_rig;
using test::fake_call;
using test::fake_order;

constexpr std::size_t n = 100;
const std::vector<device_field_plan> dense{{.dense_bytes = n}};
const std::vector<device_field_plan> ragged{{.is_ragged = true}};

const std::vector<std::string> none;

// In these tests the device does nothing before somebody waits, and then only what that needs.

TEST_CASE("device_slot: the phases that may follow one another") {
  using enum device_phase;
  const auto all = {free, in_flight, ready, leased, fenced};
  std::vector<std::string> found;
  const auto name = [](device_phase x) {
    return std::vector<std::string>{"free", "in_flight", "ready", "leased",
                                    "fenced"}[static_cast<std::size_t>(x)];
  };
  for (const auto from : all)
    for (const auto to : all)
      if (may_follow(from, to))
        found.push_back(name(from) + " -> " + name(to));
  CHECK(found
        == std::vector<std::string>{"free -> in_flight", "in_flight -> free", "in_flight -> ready",
                                    "in_flight -> leased", "ready -> free", "ready -> leased",
                                    "leased -> fenced", "fenced -> in_flight"});
}

TEST_CASE("device_slot: a batch takes its memory through all phases") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  CHECK(slot->phase() == device_phase::free);
  CHECK(slot->is_idle());
  for (int i = 0; i < 2; ++i) {
    rig.copy(*slot, 1, n);
    CHECK(slot->phase() == device_phase::in_flight);
    CHECK_FALSE(slot->is_copied());
    slot->drop();
    CHECK(slot->phase() == device_phase::free);
    rig.copy(*slot, 2, n);
    if (i == 1)
      slot->wait_until_copied();
    CHECK(slot->lend() == (i == 1));
    CHECK(slot->phase() == device_phase::leased);
    const auto stream = rig.device->make_trainer_stream();
    slot->make_wait(stream);
    rig.device->run(stream, [] {});
    slot->fence();
    CHECK(slot->phase() == device_phase::fenced);
    CHECK_FALSE(slot->is_idle());
    rig.device->finish();
    CHECK(slot->is_idle());
  }
}

/// How a process ends that goes from one phase to a wrong one.
template <class Function>
int end_of(Function step) {
  const auto child = ::fork();
  if (child == 0) {
    std::set_terminate([] { ::_exit(42); });
    step();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("device_slot: memory that would be used twice ends the process") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  CHECK(end_of([&] { slot->lend(); }) == 42);
  CHECK(end_of([&] { slot->fence(); }) == 42);
  CHECK(end_of([&] { slot->drop(); }) == 42);
  rig.copy(*slot, 1, n);
  CHECK(end_of([&] { slot->begin(rig.copies); }) == 42);
  slot->lend();
  CHECK(end_of([&] { slot->begin(rig.copies); }) == 42);
  CHECK(end_of([&] { slot->drop(); }) == 42);
  slot->fence();
  CHECK(end_of([&] { slot->lend(); }) == 42);
  CHECK(end_of([&] { slot->begin(rig.copies); }) == 0);
}

TEST_CASE("device_slot: a stream that uses a batch waits for its copies") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  const auto stream = rig.device->make_trainer_stream();
  rig.copy(*slot, 1, n);
  slot->lend();
  slot->make_wait(stream);
  rig.device->expect(stream, slot->data(0), bytes_of_batch(1, n), "batch 1");
  rig.device->finish(stream);
  CHECK(rig.device->problems() == none);
  slot->fence();
}

TEST_CASE("device_slot: copies wait for every stream in which the batch before was used") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  const auto first = rig.device->make_trainer_stream();
  const auto second = rig.device->make_trainer_stream();
  const auto use = [&](std::uint64_t batch) {
    slot->lend();
    slot->make_wait(first);
    rig.device->follow(second, first);
    slot->used_on(second);
    for (const auto x : {first, second, first})
      rig.device->expect(x, slot->data(0), bytes_of_batch(batch, n), std::to_string(batch));
    slot->fence();
  };
  rig.copy(*slot, 1, n);
  use(1);
  rig.copy(*slot, 2, n); // which comes after what is read
  slot->wait_until_copied();
  CHECK(rig.device->problems() == none);
  use(2);
  rig.copy(*slot, 3, n);
  slot->wait_until_copied();
  rig.device->finish();
  CHECK(rig.device->problems() == none);
  CHECK(rig.device->waits_of() == 2); // those here
}

TEST_CASE("device_slot: copies do not wait for what the trainer does after its lease") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  const auto stream = rig.device->make_trainer_stream();
  rig.copy(*slot, 1, n);
  slot->lend();
  slot->make_wait(stream);
  slot->fence();
  bool has_run = false;
  rig.device->run(stream, [&] { has_run = true; });
  rig.copy(*slot, 2, n);
  slot->wait_until_copied();
  CHECK_FALSE(has_run);
}

TEST_CASE("device_slot: use in streams that nobody names, or can mark, is waited for") {
  const auto kind = GENERATE(0, 1, 2, 3);
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  const auto stream = rig.device->make_trainer_stream();
  rig.copy(*slot, 1, n);
  slot->lend();
  const auto read = [&](device_stream in) {
    rig.device->expect(in, slot->data(0), bytes_of_batch(1, n), "batch 1");
  };
  if (kind == 0) { // as where on_device_for_all() is called
    slot->used_on(std::nullopt);
    slot->wait_until_copied();
    read(stream);
    slot->fence();
  } else if (kind == 1) { // the stream is gone before the lease
    slot->make_wait(stream);
    read(stream);
    rig.device->end_trainer_stream(stream);
    slot->fence();
  } else if (kind == 2) { // so it is, and another one is not
    slot->make_wait({});
    slot->make_wait(stream);
    read(stream);
    read({});
    rig.device->end_trainer_stream(stream);
    slot->fence();
  } else { // each thread's own default stream, in which another thread can put no mark
    const device_stream of_thread{reinterpret_cast<void*>(2)};
    slot->make_wait(of_thread);
    read(of_thread);
    std::thread{[&] { slot->fence(); }}.join();
  }
  CHECK_FALSE(slot->is_idle());
  rig.copy(*slot, 2, n);
  slot->wait_until_copied();
  rig.device->finish();
  CHECK(rig.device->problems() == none);
}

TEST_CASE("device_slot: a stream that the driver refuses is not counted as one of use") {
  device_rig rig;
  const auto slot = rig.make_slot(dense);
  rig.copy(*slot, 1, n);
  slot->lend();
  CHECK(code_of([&] { slot->make_wait({reinterpret_cast<void*>(3)}); }) == errc::device);
  slot->fence();
  CHECK(slot->is_idle());
}

TEST_CASE("device_slot: ragged fields go with their offsets, and staged bytes stay until copied") {
  device_rig rig;
  const auto slot = rig.make_slot(ragged);
  const auto stream = rig.device->make_trainer_stream();
  const std::vector<std::uint64_t> offsets{0, 10, 10, 60};
  const std::vector<std::uint64_t> others{0, 20, 30, 50};
  for (std::uint64_t batch = 1; batch <= 6; ++batch) {
    slot->begin(rig.copies);
    const auto& these = batch % 2 == 0 ? others : offsets;
    const auto values = bytes_of_batch(batch, these.back());
    slot->copy(0, values, these);
    slot->end();
    slot->lend();
    slot->make_wait(stream);
    CHECK(reinterpret_cast<std::uintptr_t>(slot->data(0)) % 512 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(slot->offsets(0)) % 512 == 0);
    rig.device->expect(stream, slot->data(0), values, "values " + std::to_string(batch));
    rig.device->expect(stream, reinterpret_cast<const std::byte*>(slot->offsets(0)),
                       bytes_of(these), "offsets " + std::to_string(batch));
    slot->fence();
  }
  rig.device->finish();
  CHECK(rig.device->problems() == none);
  CHECK(rig.device->counts().of(fake_call::allocate) == 1);
}

TEST_CASE("device_slot: a ragged field may be empty, and longer than ever before") {
  device_rig rig{GENERATE(fake_order::lazy, fake_order::random)};
  const auto slot = rig.make_slot({{.is_ragged = true}, {.dense_bytes = n}, {}});
  CHECK(slot->has(0));
  CHECK(slot->has(1));
  CHECK_FALSE(slot->has(2));
  const auto stream = rig.device->make_trainer_stream();
  std::uint64_t batch = 0;
  for (const std::size_t bytes : {0, 10, 5000, 20, 100'000, 99'999, 200'000}) {
    ++batch;
    slot->begin(rig.copies);
    const auto values = bytes_of_batch(batch, bytes);
    slot->copy(0, values, std::vector<std::uint64_t>{0, bytes});
    slot->copy(1, bytes_of_batch(batch + 100, n));
    slot->end();
    slot->lend();
    slot->make_wait(stream);
    rig.device->expect(stream, slot->data(0), values, "values " + std::to_string(batch));
    rig.device->expect(stream, slot->data(1), bytes_of_batch(batch + 100, n), "dense");
    slot->fence();
  }
  rig.device->finish();
  CHECK(rig.device->problems() == none);
  CHECK(rig.device->counts().of(fake_call::allocate) == 6); // the dense field, and five sizes
}

TEST_CASE("device_slot: it ends once the device does not use it any more") {
  const auto kind = GENERATE(0, 1, 2, 3, 4, 5);
  device_rig rig;
  auto slot = rig.make_slot({{.is_ragged = true}, {.dense_bytes = n}});
  const auto stream = rig.device->make_trainer_stream();
  const auto copies = kind < 4 ? rig.copies : rig.device->make_stream();
  slot->begin(copies);
  slot->copy(0, bytes_of_batch(1, n), std::vector<std::uint64_t>{0, n});
  if (kind % 5 > 0) { // else it ends before end(), as where something throws
    slot->copy(1, {rig.pages.data(), n});
    slot->end();
  }
  if (kind == 2) {
    slot->lend();
    slot->make_wait(stream);
    rig.device->expect(stream, slot->data(0), bytes_of_batch(1, n), "batch 1");
    slot->fence();
  } else if (kind == 3) {
    slot->drop();
  }
  if (kind >= 4) // as where an engine ends before what it has copied ahead
    rig.device->end_stream(copies);
  slot.reset();
  CHECK(rig.device->problems() == none);
  CHECK(rig.device->counts().device_bytes == 0);
  CHECK(rig.device->counts().events == 0);
  CHECK(rig.device->counts().pinned_bytes == rig.pages.size());
}

TEST_CASE("device_slot: a batch whose copies fail half way does no harm to the next one") {
  device_rig rig;
  auto slot = rig.make_slot({{.is_ragged = true}, {.dense_bytes = n}});
  rig.device->fail(fake_call::copy, 2);
  slot->begin(rig.copies);
  slot->copy(0, bytes_of_batch(1, n), std::vector<std::uint64_t>{0, n});
  CHECK(code_of([&] { slot->copy(1, {rig.pages.data(), n}); }) == errc::device);
  slot->drop();
  CHECK_FALSE(slot->is_copied()); // its first copy is not done
  slot->begin(rig.copies);
  slot->copy(0, bytes_of_batch(2, n), std::vector<std::uint64_t>{0, n});
  CHECK(slot->is_copied()); // staged bytes were waited for
  slot->end();
  slot->wait_until_copied();
  rig.device->expect(rig.copies, slot->data(0), bytes_of_batch(2, n), "batch 2");
  rig.device->finish();
  slot->drop();
  CHECK(rig.device->problems() == none);
}

TEST_CASE("device_slot: where there is no memory for it, it leaves nothing") {
  device_rig rig;
  rig.device->limit_memory(2000);
  CHECK(code_of([&] { rig.make_slot({{.dense_bytes = 2001}}); }) == errc::no_resources);
  rig.device->fail(fake_call::make_event);
  CHECK(code_of([&] { rig.make_slot(dense); }) == errc::device);
  CHECK(rig.device->counts().device_bytes == 0);
  CHECK(rig.device->counts().events == 0);

  auto slot = rig.make_slot(ragged); // a field that becomes too long
  slot->begin(rig.copies);
  slot->copy(0, bytes_of_batch(1, n), std::vector<std::uint64_t>{0, n});
  slot->end();
  slot->lend();
  slot->fence();
  slot->begin(rig.copies);
  CHECK(code_of([&] { slot->copy(0, bytes_of_batch(1, 3000), std::vector<std::uint64_t>{0}); })
        == errc::no_resources);
  slot->drop();
  slot->begin(rig.copies);
  slot->copy(0, bytes_of_batch(3, n), std::vector<std::uint64_t>{0, n});
  slot->end();
  rig.device->expect(rig.copies, slot->data(0), bytes_of_batch(3, n), "batch 3");
  rig.device->finish();
  slot->drop();
  slot.reset();
  CHECK(rig.device->problems() == none);
}

TEST_CASE("device_slot: in steady state the host does not wait, and nothing is allocated") {
  device_rig rig{fake_order::random};
  const auto slot = rig.make_slot(dense);
  const auto first = rig.device->make_trainer_stream();
  const auto second = rig.device->make_trainer_stream();
  const auto use = [&](std::uint64_t batch) {
    rig.used = 0;
    rig.device->finish(rig.copies);
    rig.copy(*slot, batch, n);
    slot->lend();
    for (const auto x : {first, second}) {
      slot->make_wait(x);
      rig.device->expect(x, slot->data(0), bytes_of_batch(batch, n), std::to_string(batch));
    }
    slot->fence();
  };
  use(0);
  const auto before = rig.device->counts();
  for (std::uint64_t batch = 1; batch < 100; ++batch)
    use(batch);
  rig.device->finish();
  const auto after = rig.device->counts();
  for (const auto x : {fake_call::pin, fake_call::allocate, fake_call::make_event,
                       fake_call::make_stream, fake_call::wait_here, fake_call::wait_for_all})
    CHECK(after.of(x) == before.of(x));
  CHECK(after.unpinned_copies == 0);
  CHECK(after.copied_bytes == 100 * n);
  CHECK(rig.device->problems() == none);
}

TEST_CASE("device_slot: a device that is lost ends no process") {
  device_rig rig;
  auto slot = rig.make_slot({{.is_ragged = true}, {.dense_bytes = n}});
  const auto stream = rig.device->make_trainer_stream();
  slot->begin(rig.copies);
  slot->copy(0, bytes_of_batch(1, n), std::vector<std::uint64_t>{0, n});
  slot->end();
  slot->lend();
  slot->make_wait(stream);
  rig.device->lose();
  CHECK(code_of([&] { slot->is_copied(); }) == errc::device);
  CHECK(code_of([&] { slot->make_wait(stream); }) == errc::device);
  slot->fence();
  CHECK(code_of([&] { slot->begin(rig.copies); }) == errc::device);
  CHECK(slot->phase() == device_phase::fenced);
  slot.reset();
  CHECK(rig.device->counts().device_bytes == 0);
}

} // namespace
} // namespace leat::device_slot_test
