#pragma once

#include "runtime/pipeline/operator_type.hpp"

#include <leat/streams.hpp>

#include <cstdint>
#include <string>
#include <vector>

// What all sources that are read in sequence have in common as operators.

namespace leat {

inline constexpr option_words<file_order, 2> file_orders{
    {{"stored", file_order::stored}, {"shuffled", file_order::shuffled}}};

/// The options of one of these sources, followed by those that all have.
std::vector<operator_option> with_file_order(std::vector<operator_option> own);

inline stream_options stream_options_of(const operator_node& call) {
  return {.order = value_of(call, "file_order", file_orders),
          .seed = call.get<std::uint64_t>("seed")};
}

/// Throws `errc::invalid_argument` for 0.
inline void check_at_least_one(const std::string& op, const std::string& option, std::uint64_t x) {
  if (x == 0)
    refuse_argument(op, option + " 0", "at least 1");
}

/// What the source keeps: a unit, and a place in it. `bytes` and `item` are the sizes of that and
/// of an item, without the place of a record. Opens the data.
state_sizes sizes_of_stream(const operator_node& x, std::uint64_t bytes, std::uint64_t item);

} // namespace leat
