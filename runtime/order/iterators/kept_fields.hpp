#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/order/input_counts.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

/// A field of a sample that a worker probed, kept for the next round.
struct kept_field final : payload {
  sample_access::field_view content = {};
  std::uint64_t sample_key = 0;
  /// What inputs of mixes gave to the sample.
  std::span<const input_count> given = {};
};

/// Copies of fields, one behind the other in large blocks: each of them is read once, by any
/// thread, and one allocation for each would cost more than to copy it. A block is used again when
/// nobody has any of its fields. One thread; what it gives, any.
class kept_fields {
public:
  kept_fields();
  ~kept_fields();
  kept_fields(const kept_fields&) = delete;
  kept_fields& operator=(const kept_fields&) = delete;

  /// Throws `bad_sample` (missing_field), and std::bad_alloc.
  std::shared_ptr<const kept_field> keep(const sample& x, std::string_view field,
                                         std::uint64_t sample_key, const input_counts& given);

private:
  class block;
  class block_pool;

  struct place {
    std::byte* at;
    std::shared_ptr<block> of;
  };

  /// So many bytes, aligned for all types. Throws std::bad_alloc.
  place room(std::size_t bytes);

  std::shared_ptr<block_pool> pool_;
  std::shared_ptr<block> current_;
};

} // namespace leat
