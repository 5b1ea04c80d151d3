#include "runtime/sources/file_orders.hpp"

#include "runtime/base/wire_format.hpp"

#include <algorithm>

namespace leat {

std::vector<operator_option> with_file_order(std::vector<operator_option> own) {
  own.push_back(one_of("file_order", file_orders, file_order::stored));
  own.push_back({"seed", option_type::number, std::uint64_t{0}});
  return own;
}

state_sizes sizes_of_stream(const operator_node& x, std::uint64_t bytes, std::uint64_t item) {
  const auto units = std::max<std::uint64_t>(1, x.stream->get()->units());
  // Unit, number, offset, length.
  const auto place = varint_bytes(units) + 2 * varint_bytes(x.facts().bytes / units) + 2;
  return {"unit, and place in it", bytes + place, item + place};
}

} // namespace leat
