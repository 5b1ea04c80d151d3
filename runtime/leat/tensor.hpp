#pragma once

#include <leat/export.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace leat {

/// Element types of tensors; f16 is IEEE 754's binary16, bf16 the upper half of an f32. The numbers
/// appear in snapshots: never renumber them.
enum class dtype : std::uint8_t { u8 = 0, i8, u16, i16, u32, i32, u64, i64, f32, f64, f16, bf16 };
inline constexpr dtype last_dtype = dtype::bf16;

/// Bytes of one element.
constexpr std::size_t size_of(dtype x) noexcept {
  constexpr std::array<std::uint8_t, 12> bytes{1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 2, 2};
  return bytes[static_cast<std::size_t>(x) % bytes.size()];
}
LEAT_API std::string_view to_string(dtype x) noexcept;
/// Reads what `to_string` of a dtype wrote: "f32". Throws `errc::invalid_argument` with this
/// `stage`.
LEAT_API dtype parse_dtype(std::string_view text, const std::string& stage);

/// An element of `dtype::f16`: its bits, as a device takes them.
struct f16 {
  std::uint16_t bits = 0;

  /// Exact.
  explicit operator float() const noexcept {
    const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
    const std::uint32_t exponent = std::uint32_t{bits} >> 10 & 0x1F;
    const std::uint32_t fraction = std::uint32_t{bits} & 0x3FF;
    if (exponent == 0) { // without a leading one
      const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }
};

/// An element of `dtype::bf16`: its bits, as a device takes them.
struct bf16 {
  std::uint16_t bits = 0;

  /// Exact.
  explicit operator float() const noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

template <class T>
constexpr dtype dtype_of() noexcept {
  using type = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<type, f16>)
    return dtype::f16;
  else if constexpr (std::is_same_v<type, bf16>)
    return dtype::bf16;
  else {
    static_assert(std::is_arithmetic_v<type> && !std::is_same_v<type, bool> && sizeof(type) <= 8,
                  "a tensor element is an integer of 1 to 8 bytes, float, double, f16 or bf16");
    if constexpr (std::is_same_v<type, float>)
      return dtype::f32;
    else if constexpr (std::is_same_v<type, double>)
      return dtype::f64;
    else if constexpr (sizeof(type) == 1)
      return std::is_signed_v<type> ? dtype::i8 : dtype::u8;
    else if constexpr (sizeof(type) == 2)
      return std::is_signed_v<type> ? dtype::i16 : dtype::u16;
    else if constexpr (sizeof(type) == 4)
      return std::is_signed_v<type> ? dtype::i32 : dtype::u32;
    else
      return std::is_signed_v<type> ? dtype::i64 : dtype::u64;
  }
}

/// Extents of a tensor, outermost first; rank 0 is a scalar. At most 6 dimensions.
class LEAT_API shape {
public:
  static constexpr std::size_t max_rank = 6;

  constexpr shape() = default;
  /// Throws `errc::invalid_argument` above `max_rank`.
  shape(std::initializer_list<std::size_t> extents);

  std::size_t rank() const noexcept { return rank_; }
  std::size_t operator[](std::size_t i) const noexcept { return extents_[i]; }
  /// Number of elements.
  std::size_t elements() const noexcept {
    std::size_t n = 1;
    for (std::size_t i = 0; i < rank_; ++i)
      n *= extents_[i];
    return n;
  }
  /// This shape with one more dimension outside it.
  shape behind(std::size_t outermost) const;

  friend bool operator==(const shape&, const shape&) = default;

private:
  std::array<std::size_t, max_rank> extents_{};
  std::size_t rank_ = 0;
};

/// "[3, 224, 224]"
LEAT_API std::string to_string(const shape& x);

/// A dense row-major view of N dimensions that borrows its elements.
template <class T, std::size_t N>
class tensor_view {
public:
  static_assert(N >= 1 && N <= shape::max_rank);

  tensor_view(T* data, const std::array<std::size_t, N>& extents)
      : data_(data), extents_(extents) {}

  T* data() const noexcept { return data_; }
  std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
  const std::array<std::size_t, N>& extents() const noexcept { return extents_; }

  /// Number of elements.
  std::size_t size() const noexcept {
    std::size_t n = 1;
    for (auto x : extents_)
      n *= x;
    return n;
  }

  /// All elements in memory order.
  std::span<T> flat() const noexcept { return {data_, size()}; }

  template <class... Indices>
  requires(sizeof...(Indices) == N) T& operator()(Indices... indices) const noexcept {
    std::size_t at = 0;
    std::size_t dimension = 0;
    ((at = at * extents_[dimension++] + static_cast<std::size_t>(indices)), ...);
    return data_[at];
  }

  /// Element i of a vector, or the i-th slice along the outermost dimension.
  decltype(auto) operator[](std::size_t i) const noexcept {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[i]);
    } else {
      std::array<std::size_t, N - 1> inner{};
      std::size_t stride = 1;
      for (std::size_t d = 1; d < N; ++d) {
        inner[d - 1] = extents_[d];
        stride *= extents_[d];
      }
      return tensor_view<T, N - 1>{data_ + i * stride, inner};
    }
  }

private:
  T* data_;
  std::array<std::size_t, N> extents_;
};

} // namespace leat
