#include "runtime/sources/lines/line_format.hpp"

#include "runtime/sources/lines/json_fields.hpp"

namespace leat {

static_assert(line_slack >= json_slack);

line_format text_lines() {
  return {
      .parse = [](std::span<const std::byte> line, sample& into) { into.borrow("text", line); }};
}

line_format json_object_lines() {
  return {.parse = set_json_fields, .passes_blank_lines = true};
}

} // namespace leat
