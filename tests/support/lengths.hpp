#pragma once

#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace leat::test {

using lengths = std::vector<std::size_t>;

/// Samples whose field "text" has these lengths.
inline pipeline samples_of(const lengths& all) {
  return from_function("samples@1", all.size(), [all](std::uint64_t i, sample& s) {
    s.set("text", std::string(all[i], 'x'));
  });
}

/// The number of a sample with this id.
inline std::size_t number_in(const std::string& id) {
  return std::stoul(id.substr(id.find('/') + 1));
}

/// 90 samples of up to 24 bytes in random order, with a field "n"; and the same, some without text.
inline std::vector<pipeline> whole_and_broken_samples() {
  std::mt19937_64 random{11};
  lengths all(90);
  for (auto& x : all)
    x = random() % 25;
  const auto data = samples_of(all).shuffle({.seed = 5});
  return {data.enumerate("n"), data.map("break@1", [](sample& s, context&) {
            if (s.text("text").size() % 7 == 3)
              s.erase("text");
            s.set("n", 1);
          })};
}

} // namespace leat::test
