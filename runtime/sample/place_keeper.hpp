#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// Places that are kept of a JPEG, as bytes.
enum class place_kind : std::uint8_t {
  /// Where its MCU rows begin (read_row_places).
  rows,
  /// Where stretches of about the same work begin (read_work_places).
  work,
};
inline constexpr std::size_t num_place_kinds = 2;

/// Who keeps places of JPEGs, each of which has a number there. Used by any number of threads.
class place_keeper {
public:
  /// Their bytes; 0 if they are not known.
  virtual std::size_t place_bytes(place_kind kind, std::uint64_t number) const noexcept = 0;
  /// Fills `into`, which has exactly that size; false if they are no longer there. They are checked
  /// by whoever uses them.
  virtual bool read_places(place_kind kind, std::uint64_t number,
                           std::span<std::byte> into) const = 0;

protected:
  place_keeper() = default;
  place_keeper(const place_keeper&) = default;
  place_keeper& operator=(const place_keeper&) = default;
  ~place_keeper() = default;
};

/// The places of one JPEG.
struct kept_places {
  /// Null: they are not known.
  const place_keeper* by = nullptr;
  std::uint64_t number = 0;
};

} // namespace leat
