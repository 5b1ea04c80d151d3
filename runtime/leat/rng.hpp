#pragma once

#include <leat/export.hpp>

#include <array>
#include <cstdint>

namespace leat {

/// Philox4x32-10: a keyed block of four random words for every counter.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011;
/// test vectors of the authors' Random123 1.14 and our own use of it in docs/order.md.
LEAT_API std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                 std::array<std::uint32_t, 2> key) noexcept;

/// Random numbers of one sample in one stage. They depend only on (seed, the sample's key, stage):
/// they are the same on any worker, rank, retry and resume, wherever the sample stands. Results of
/// all calls are defined by this library, unlike those of <random>'s distributions.
class LEAT_API rng {
public:
  using result_type = std::uint32_t;

  /// `stream` distinguishes stages and seeds, `sample_key` distinguishes samples.
  rng(std::uint64_t stream, std::uint64_t sample_key) noexcept
      : stream_(stream), sample_key_(sample_key) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffffU; }

  /// The next 32 random bits.
  result_type operator()() noexcept;

  /// The next 64 random bits: first word drawn low, second high.
  std::uint64_t bits64() noexcept;

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() noexcept;

  /// Uniform in [low, high).
  double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

  /// Uniform in 0 .. n-1, without bias; n at least 1.
  std::uint64_t below(std::uint64_t n) noexcept;

  /// True with probability p.
  bool coin(double p) noexcept { return uniform() < p; }

  /// Standard normal, from two uniforms by the method of Box and Muller. Uses the C library's log
  /// and cos, whose last bit may differ between libraries.
  double normal() noexcept;

private:
  std::uint64_t stream_;
  std::uint64_t sample_key_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  unsigned used_ = 4;
};

} // namespace leat
