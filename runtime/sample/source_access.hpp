#pragma once

#include "runtime/sample/item.hpp"
#include "runtime/sample/place_keeper.hpp"
#include "runtime/storage/object_store.hpp"

#include <leat/sample.hpp>
#include <leat/stored_source.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

class record_blocks;
struct late_image;

/// What a source of leat's own, or a decoder, may do with the sample that it reads into, but a
/// user's may not.
class source_access {
public:
  /// Says where the places of a field that is a JPEG are kept, which must outlive the sample.
  /// Setting the field again removes that. Throws `bad_sample` (missing_field).
  static void set_places(sample& x, std::string_view name, const kept_places& places);
  /// Reads such places, which costs nothing unless it is asked for; empty if they are not known.
  /// The next call for this sample invalidates the bytes. Throws `bad_sample` (missing_field).
  static std::span<const std::byte> places(const sample& x, std::string_view name,
                                           place_kind kind = place_kind::rows);

  /// Whether fields of the row may be made later, on a device.
  static bool has_late_fields(const sample& x) noexcept;
  /// Whether the tensor `name`, which make_tensor() made, is made later. If not, it has to be
  /// written now.
  static bool make_later(sample& x, std::string_view name, const late_image& from);

  /// What a source that is read by extents needs, kept for the next record.
  struct extent_buffers {
    std::vector<extent> extents = {};
    std::vector<read_part> parts = {};
  };
  static extent_buffers& buffers(sample& x) noexcept;

  /// See sample_access::read_with; null: there are none.
  static record_blocks* blocks_of(const sample& x) noexcept;

  /// Keeps what fields borrow from up to the next `reset` or `own`.
  static void keep_alive(sample& x, payload_ptr bytes);

  /// Keeps the first bytes of a field that has bytes of its own (`make_bytes`), `size` of them.
  static void shorten(sample& x, std::string_view name, std::size_t size);
};

} // namespace leat
