#pragma once

#include "runtime/image/device/kernel_launch.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/run_on_host.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>

namespace leat::test {

/// Gives a fake device leat's kernels, which the host runs.
inline void define_kernels(fake_device& on) {
  for (std::size_t i = 0; i < num_kernels; ++i) {
    const auto which = static_cast<kernel>(i);
    on.define(name_of(which), [which](std::span<const std::byte> argument) {
      device_group group{};
      if (argument.size() != sizeof group)
        throw std::logic_error("a kernel's argument is a device_group");
      std::memcpy(&group, argument.data(), sizeof group);
      run_on_host(which, group);
    });
  }
}

} // namespace leat::test
