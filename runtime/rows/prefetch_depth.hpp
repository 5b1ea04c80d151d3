#pragma once

#include "runtime/sample/batch_layout.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

class batch_memory;

/// How many batches are made ahead of the one in use: what was asked for, or two, and more of small
/// batches. How large a batch with ragged fields is shows only once there are some. For one thread.
class prefetch_depth {
public:
  /// `rows` of a batch; `asked`: loader_options::prefetch.
  prefetch_depth(const batch_layout& layout, std::size_t rows, std::size_t asked) noexcept;

  std::size_t batches() const noexcept { return batches_; }

  /// A batch has been made. Looks at some of them only: each look reads what lies in the caches of
  /// those who made the rows.
  void see(const batch_memory& batch) noexcept {
    if (learns_ && seen_++ == next_look_)
      look(batch);
  }

private:
  void look(const batch_memory& batch) noexcept;

  std::size_t planned_;
  std::size_t batches_;
  bool learns_;
  /// Bytes of the largest batch that was looked at: its slot keeps that much memory.
  std::size_t largest_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t next_look_ = 0;
};

} // namespace leat
