#pragma once

#include "python/module/python.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat::python {

inline nb::bytes to_bytes(std::string_view x) {
  return nb::bytes(x.data(), x.size());
}

/// The parts of a snapshot as strings.
inline std::vector<std::string> parts_of(const std::vector<nb::bytes>& parts) {
  std::vector<std::string> result;
  for (const auto& x : parts)
    result.emplace_back(x.c_str(), x.size());
  return result;
}

} // namespace leat::python
