#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/device/device_slot.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "tests/support/fake_device.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace leat::test {

/// What the rows of a batch hold: other bytes in each batch.
inline std::vector<std::byte> bytes_of_batch(std::uint64_t batch, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::byte>(1 + (batch * 37 + i) % 150); // not the 0xA5 of fresh memory
  return bytes;
}

inline std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& x) {
  const auto bytes = std::as_bytes(std::span{x});
  return {bytes.begin(), bytes.end()};
}

/// A fake device, a stream for copies, and pinned pages as the host's memory of a batch.
struct device_rig {
  explicit device_rig(fake_order order = fake_order::lazy, std::uint64_t seed = 1)
      : device(std::make_shared<fake_device>(seed, order)),
        host(std::make_shared<pinned_memory>(device)), copies(device->make_stream()),
        pages(4096, host) {}
  ~device_rig() { device->end_stream(copies); }
  device_rig(const device_rig&) = delete;
  device_rig& operator=(const device_rig&) = delete;

  std::unique_ptr<device_slot> make_slot(const std::vector<device_field_plan>& fields) const {
    return std::make_unique<device_slot>(device, host, fields);
  }

  /// The dense field 0 of a batch, with memory of the host that is nobody else's.
  void copy(device_slot& to, std::uint64_t batch, std::size_t bytes) {
    to.begin(copies);
    const auto content = bytes_of_batch(batch, bytes);
    auto* const at = pages.data() + used;
    used += bytes;
    std::memcpy(at, content.data(), bytes);
    to.copy(0, {at, bytes});
    to.end();
  }

  std::shared_ptr<fake_device> device;
  std::shared_ptr<pinned_memory> host;
  device_stream copies;
  huge_buffer pages;
  std::size_t used = 0;
};

} // namespace leat::test
