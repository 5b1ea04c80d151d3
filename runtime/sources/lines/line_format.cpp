#include "runtime/sources/lines/line_format.hpp"

#include "runtime/sources/lines/json_fields.hpp"

#include <utility>

namespace leat {

static_assert(line_slack >= json_slack);

line_format text_lines() {
  return {
      .parse = [](std::span<const std::byte> line, sample& into) { into.borrow("text", line); }};
}

line_format json_object_lines(json_types types) {
  return {.parse = [types = std::move(types)](std::span<const std::byte> line,
                                              sample& into) { set_json_fields(line, into, types); },
          .passes_blank_lines = true};
}

} // namespace leat
