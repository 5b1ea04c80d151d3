#pragma once

#include <leat/step_range.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace leat {

/// A set of steps, as rising ranges with gaps between them, so that equal sets have equal ranges.
class step_set {
public:
  step_set() = default;
  explicit step_set(const std::vector<step_range>& ranges);

  void add(const step_range& steps);
  bool contains(std::uint64_t step) const noexcept;
  /// The first of these steps that the set lacks.
  std::optional<std::uint64_t> first_missing(const step_range& steps) const noexcept;
  const std::vector<step_range>& ranges() const noexcept { return ranges_; }

private:
  std::vector<step_range> ranges_;
};

} // namespace leat
