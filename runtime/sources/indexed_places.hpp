#pragma once

#include "runtime/sample/place_keeper.hpp"
#include "runtime/sources/index_sections.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// What a survey of the images of a shard or a folder found: of each kind, the places of every
/// field or image; nothing of those that are no JPEG that leat decodes itself.
struct surveyed_places {
  std::array<std::vector<std::vector<std::byte>>, num_place_kinds> of_kind;

  std::vector<std::vector<std::byte>>& of(place_kind x) {
    return of_kind[static_cast<std::size_t>(x)];
  }
};

/// The places that an index keeps, by the numbers of its fields or images. A view of the index,
/// which must outlive it.
///
/// Sections of an index: "row-ends", the end of each one's row places, and "rows", these places,
/// one after the other; "work-end" and "work", those by work. Indexes that were made before there
/// were places by work have none.
class indexed_places final : public place_keeper {
public:
  /// Of `count` fields or images. Nothing if a section is damaged.
  static std::optional<indexed_places> in(const index_sections& index, std::size_t count);
  /// Adds the sections, as the last ones.
  static void write(index_writer& to, const surveyed_places& places);

  bool has(place_kind x) const noexcept { return !part_of(x).ends.empty(); }
  /// Whether there is all that a survey finds.
  bool are_complete() const noexcept { return has(place_kind::rows) && has(place_kind::work); }

  std::size_t place_bytes(place_kind kind, std::uint64_t number) const noexcept override;
  bool read_places(place_kind kind, std::uint64_t number, std::span<std::byte> into) const override;

private:
  struct part {
    std::span<const std::uint64_t> ends;
    index_tail bytes;

    std::uint64_t begin(std::uint64_t number) const noexcept {
      return number == 0 ? 0 : ends[number - 1];
    }
  };

  const part& part_of(place_kind x) const noexcept { return parts_[static_cast<std::size_t>(x)]; }

  std::array<part, num_place_kinds> parts_;
};

} // namespace leat
