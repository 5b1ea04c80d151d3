#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/cache/block_file.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct stat;

namespace leat {

/// What changes with a file's bytes, and with its times.
struct file_state {
  static file_state of(const struct ::stat& x) noexcept;

  bool operator==(const file_state&) const = default;

  std::uint64_t file = 0;
  std::int64_t bytes = 0;
  /// When it was last changed, in nanoseconds.
  std::int64_t changed = 0;
};

/// A block of a cache in memory that is mapped: what the page cache holds of it is read without a
/// system call. Each chunk is checked before it is first read, once. The file may be removed
/// meanwhile; what is cut off or cannot be read is noticed. Any thread.
class mapped_block : not_copied {
public:
  /// Of a file that has a header and `size` bytes, while `copies_are_guarded`. Null if it cannot be
  /// mapped, or is cut.
  static std::unique_ptr<mapped_block> of(const file_descriptor& file, const file_state& state,
                                          const block_checks& checks, std::size_t size);
  ~mapped_block();

  /// Fills `into` with the bytes at `begin`, which are in the block. False if they are not what
  /// they have to be; anything may be there then.
  bool read(std::size_t begin, std::span<std::byte> into) noexcept;
  /// The file's when it was mapped.
  const file_state& state() const noexcept { return state_; }

private:
  mapped_block(std::span<const std::byte> file, const file_state& state, const block_checks& checks,
               std::vector<std::byte> end)
      : file_(file), state_(state), checks_(checks), end_(std::move(end)) {}

  bool copy_checked(std::size_t chunk, std::size_t begin, std::span<std::byte> into) noexcept;
  bool copy(std::size_t begin, std::span<std::byte> into) const noexcept;

  const std::span<const std::byte> file_;
  const file_state state_;
  const block_checks checks_;
  /// The last page of the file, where a mapping does not show that it was cut.
  const std::vector<std::byte> end_;
  /// A bit for each chunk that was right.
  std::atomic<std::uint64_t> checked_{0};
};

} // namespace leat
