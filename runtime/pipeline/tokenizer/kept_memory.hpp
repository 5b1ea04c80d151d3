#pragma once

#include <cstddef>

namespace leat {

/// Bytes of a buffer that a worker keeps from one text to the next at most: enough for most texts.
constexpr std::size_t most_kept_bytes = std::size_t{256} << 10;

/// Empties containers, and frees their memory, which `= {}` keeps.
template <class... Container>
void free_all(Container&... all) noexcept {
  (Container{}.swap(all), ...);
}

/// Empties the buffers that a long text has left larger than that, and frees their memory.
template <class... Buffer>
void free_large(Buffer&... all) noexcept {
  const auto free_one = [](auto& x) {
    if (x.capacity() * sizeof *x.data() > most_kept_bytes)
      free_all(x);
  };
  (free_one(all), ...);
}

} // namespace leat
