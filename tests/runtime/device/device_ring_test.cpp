#include "runtime/device/device_ring.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device_rig.hpp"

#include <future>
#include <vector>

namespace leat::device_ring_test {
namespace {

using test::device_rig;

constexpr std::size_t n = 100;

/// So many slots that streams still use.
std::vector<device_slot_ptr> used_slots(device_rig& rig, std::size_t count) {
  std::vector<device_slot_ptr> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(rig.make_slot({{.dense_bytes = n}}));
    rig.copy(*all.back(), i, n);
    all.back()->lend();
    all.back()->make_wait(rig.device->make_trainer_stream());
    all.back()->fence();
  }
  return all;
}

TEST_CASE("device_ring: memory that the device does not use comes first, then what came first") {
  device_rig rig;
  const auto slots = used_slots(rig, 3);
  const device_slot_ptr fresh = rig.make_slot({{.dense_bytes = n}});
  device_ring ring{{slots[1], slots[0]}};
  ring.put(slots[2]);
  ring.put(fresh);
  CHECK(ring.take() == fresh);
  CHECK(ring.take() == slots[1]);
  CHECK(ring.take() == slots[0]);
  CHECK(ring.take() == slots[2]);
  rig.device->finish();
  ring.put(slots[2]);
  CHECK(ring.take() == slots[2]);
}

TEST_CASE("device_ring: where there is none, the next that comes back is waited for") {
  device_rig rig;
  const device_slot_ptr slot = rig.make_slot({});
  device_ring ring{{}};
  auto taken = std::async(std::launch::async, [&] { return ring.take(); });
  ring.put(slot);
  CHECK(taken.get() == slot);
}

TEST_CASE("device_ring: an interrupt ends waits, now and later") {
  device_rig rig;
  device_ring ring{{}};
  auto taken = std::async(std::launch::async, [&] { return ring.take(); });
  ring.interrupt();
  CHECK(taken.get() == nullptr);
  ring.put(rig.make_slot({}));
  CHECK(ring.take() == nullptr);
}

} // namespace
} // namespace leat::device_ring_test
