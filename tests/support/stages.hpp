#pragma once

#include "tests/support/standard.hpp"

#include <leat/functions.hpp>
#include <leat/once.hpp>
#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

namespace leat {

/// A filter that probes content, and keeps what `keeps` says.
template <class Keeps>
filter_stage probing(std::string name, Keeps keeps) {
  return {.name = std::move(name), .make = [keeps] { return keeps; }};
}

/// Probes content, and keeps everything.
inline filter_stage keep_all() {
  return probing("all@1", [](sample&) { return true; });
}

/// Samples 0 to n - 1, each with its number as `n`.
inline pipeline numbers(std::uint64_t n) {
  return from_function("numbers@1", n, [](std::uint64_t i, sample& s) { s.set("n", i); });
}

/// The same as records that exist once. `next`: the number of the next one, whoever asks.
inline pipeline
numbers_once(std::uint64_t n,
             std::shared_ptr<std::uint64_t> next = std::make_shared<std::uint64_t>(0)) {
  return once("numbers", [n, next = std::move(next)](sample& s) {
    if (*next == n)
      return false;
    s.set("n", (*next)++);
    return true;
  });
}

inline std::uint64_t number_of(const sample& s) {
  return s.get<std::uint64_t>("n");
}

/// Adds random numbers, so that any mistake shows in the pixels.
inline pipeline with_noise(const pipeline& x) {
  return x.map("noise@1", [](sample& s, context& c) {
    for (auto& v : s.make<float>("noise", {4}))
      v = static_cast<float>(c.rng().uniform());
  });
}

} // namespace leat
