#include "runtime/order/iterators/kept_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace leat {

namespace {

/// More blocks than a rank's lanes have in flight at most times.
constexpr std::size_t most_blocks_kept = 512;

// No destructor of theirs is called: a block's memory is used again as it is.
static_assert(std::is_trivially_destructible_v<sample_access::field_view>);
static_assert(std::is_trivially_copyable_v<input_count>);

} // namespace

kept_fields::kept_fields() : room_(most_blocks_kept) {}

std::shared_ptr<const kept_field> kept_fields::keep(const sample& x, std::string_view field,
                                                    std::uint64_t sample_key,
                                                    const input_counts& given) {
  auto content = sample_access::view(x, field);
  const auto counts = std::as_bytes(std::span{given});
  constexpr auto header = shared_room::aligned(sizeof(kept_field));
  const auto counts_room = shared_room::aligned(counts.size());
  auto in = room_.take(header + counts_room + content.bytes.size());
  auto* const counts_at = in.at + header;
  auto* const bytes_at = counts_at + counts_room;
  std::copy(counts.begin(), counts.end(), counts_at);
  if (!content.bytes.empty())
    std::memcpy(bytes_at, content.bytes.data(), content.bytes.size());
  auto* const kept = new (in.at) kept_field;
  content.bytes = {bytes_at, content.bytes.size()};
  kept->content = content;
  kept->sample_key = sample_key;
  kept->given = {reinterpret_cast<const input_count*>(counts_at), given.size()};
  return {std::move(in.keep), kept};
}

} // namespace leat
