#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace leat {

/// A variable of this process's environment: a `variable_lookup`. As always, no thread may change
/// the environment meanwhile.
inline std::optional<std::string> variable_of_process(const std::string& name) {
  const char* value = std::getenv(name.c_str()); // NOLINT(concurrency-mt-unsafe): see above
  return value ? std::optional<std::string>{value} : std::nullopt;
}

} // namespace leat
