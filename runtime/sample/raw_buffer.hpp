#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <span>

namespace leat {

/// Memory whose content is not defined: a vector would set all that it grows by to zero.
class raw_buffer {
public:
  /// Its first bytes. If they are more than it has, those of earlier calls are gone.
  std::span<std::byte> first(std::size_t size) {
    if (size_ < size) {
      const auto grown = size <= rounded_up ? std::bit_ceil(size) : size;
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(grown);
      size_ = grown;
    }
    return {bytes_.get(), size};
  }
  std::span<const std::byte> all() const noexcept { return {bytes_.get(), size_}; }

private:
  /// Smaller ones grow in steps: records of a source mostly have sizes like these.
  static constexpr std::size_t rounded_up = 65536;

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

} // namespace leat
