#pragma once

#include <leat/functions.hpp>

#include <string>
#include <vector>

namespace leat::test {

/// Runs a map of the program's or leat's own over a sample, as for the first record.
inline void apply(const map_stage& stage, sample& x) {
  context in{rng{0, 0}, 0, 0, 1, nullptr};
  stage.make()(x, in);
}

/// The elements of a field of one dimension.
template <class T>
std::vector<T> elements(const sample& x, const std::string& field = "f") {
  const auto values = x.view<T, 1>(field).flat();
  return {values.begin(), values.end()};
}

} // namespace leat::test
