#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace leat {

/// Numbers that belong together: one thread notes them, without a lock and without waiting, and any
/// thread reads the newest that were noted, all of them from the same note.
template <std::size_t N>
class noted_words {
public:
  using words = std::array<std::uint64_t, N>;

  /// One thread at a time.
  void note(const words& x) noexcept {
    const auto before = version_.load(std::memory_order_relaxed);
    version_.store(before + 1, std::memory_order_relaxed); // odd: being noted
    // A thread that sees one of these words also sees that version.
    for (std::size_t i = 0; i < N; ++i)
      words_[i].store(x[i], std::memory_order_release);
    version_.store(before + 2, std::memory_order_release);
  }

  /// All zero before the first note. Tries again while one is being noted.
  words read() const noexcept {
    for (;;) {
      const auto before = version_.load(std::memory_order_acquire);
      words x;
      for (std::size_t i = 0; i < N; ++i)
        x[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before)
        return x;
    }
  }

private:
  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<std::uint64_t>, N> words_{};
};

} // namespace leat
