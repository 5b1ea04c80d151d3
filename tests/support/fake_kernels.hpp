#pragma once

#include "tests/support/fake_device.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace leat::test {

/// Kernels of a fake device: functions of the host, which its streams run as late as all their
/// work. Memory of the device to which a word of their argument points is in use until then. Any
/// thread.
class fake_kernels final : public device_kernels {
public:
  using body = std::function<void(std::span<const std::byte>)>;

  explicit fake_kernels(fake_device& on);

  device_kernel find(const char* name) override;
  void launch(const device_launch& x, std::span<const std::byte> argument,
              device_stream in) override;
  void copy_back(std::byte* to, const std::byte* from, std::size_t bytes,
                 device_stream in) override;
  void copy_within(std::byte* to, const std::byte* from, std::size_t bytes,
                   device_stream in) override;
  void clear(std::byte* at, std::size_t words, device_stream in) override;

private:
  friend class fake_device;

  fake_device& on_;
  /// Guarded by the device's mutex.
  std::map<std::string, body> bodies_;
};

} // namespace leat::test
