#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Where the fields of batches go, as users write it: "cpu" stays, "cuda" is "cuda:0".
struct device_name {
  /// Number of the GPU; none for "cpu".
  std::optional<int> gpu;

  std::string text() const { return gpu ? "cuda:" + std::to_string(*gpu) : "cpu"; }
  friend bool operator==(const device_name&, const device_name&) = default;
};

/// Throws `errc::invalid_argument`, which names `option`.
device_name parse_device(std::string_view text, const std::string& option);

} // namespace leat
