#pragma once

#include "runtime/order/input_counts.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/storage/shared_room.hpp"

#include <leat/sample.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace leat {

/// A field of a sample that a worker probed, kept for the next round.
struct kept_field final : payload {
  sample_access::field_view content = {};
  std::uint64_t sample_key = 0;
  /// What inputs of mixes gave to the sample.
  std::span<const input_count> given = {};
};

/// Copies of fields, each of which is read once, by any thread: see shared_room. One thread; what
/// it gives, any.
class kept_fields {
public:
  kept_fields();

  /// Throws `bad_sample` (missing_field), and std::bad_alloc.
  std::shared_ptr<const kept_field> keep(const sample& x, std::string_view field,
                                         std::uint64_t sample_key, const input_counts& given);

private:
  shared_room room_;
};

} // namespace leat
