#pragma once

#include "runtime/batch_layout.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

class source;

/// Where one row of a batch lies: for each field of the layout, its tensor's first byte or its
/// bytes.
struct row_target {
  const batch_layout* layout = nullptr;
  /// First byte of the row in each dense field; null for ragged ones.
  std::span<std::byte* const> dense;
  /// Bytes of the row in each ragged field.
  std::span<std::vector<std::byte>* const> ragged;
};

/// What a worker may do with a sample and a user may not.
class sample_access {
public:
  /// Empties the sample for the next record. Without a target all fields live in the sample.
  static void reset(sample& x, const source* from, std::uint64_t record, const row_target* target);

  /// Moves what the layout needs into the target. Throws `bad_sample` (missing_field, wrong_shape).
  static void deliver(sample& x);

  /// The fields that stand in the sample now, as a layout.
  static std::vector<field_layout> fields(const sample& x);

  /// Takes the count of bytes read since the last call.
  static std::uint64_t take_bytes_read(sample& x);
};

} // namespace leat
