#pragma once

#include "runtime/order/operators/pack_plan.hpp"

#include <leat/sample.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// Assembles documents into a sample's fields.
class pack_content {
public:
  pack_content(const pack_plan& plan, sample& into) : plan_(plan), into_(into) {}

  /// Adds elements `first` to `last`, delimiter included; the whole document if `last` is not set.
  /// Throws `bad_sample` for documents that do not belong into one pack, or do not fit.
  void add(const sample& document, std::uint64_t first, std::optional<std::uint64_t> last);

  /// Fills the sample up, after at least one `add`. Returns the number of elements that are
  /// padding.
  std::uint64_t finish();

private:
  void begin(dtype type);
  void pad();
  void set_bounds();
  void put(std::uint64_t at, const std::array<std::byte, 8>& element);
  void label(std::span<const std::byte> document, std::uint64_t first, std::uint64_t end);

  const pack_plan& plan_;
  sample& into_;
  dtype type_ = dtype::u8;
  std::size_t width_ = 1;
  std::array<std::byte, 8> pad_{};
  std::array<std::byte, 8> delimiter_{};
  std::byte* data_ = nullptr;
  // Null where the plan has no such field:
  std::int32_t* segments_ = nullptr;
  std::int32_t* offsets_ = nullptr;
  std::int64_t* labels_ = nullptr;
  std::uint64_t filled_ = 0;
  /// Where segments begin, then where the last one ends.
  std::vector<std::int32_t> bounds_{0};
};

} // namespace leat
