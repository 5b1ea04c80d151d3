#pragma once

#include "runtime/sources/lines/json_types.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <functional>
#include <span>

namespace leat {

/// So many bytes after a line are readable: a line feed, and whatever follows it.
inline constexpr std::size_t line_slack = 64;

/// What lines of a file are.
struct line_format {
  /// Turns a line, with its slack, into fields; its bytes live as long as the sample's row. Throws
  /// `bad_sample`. Any thread.
  std::function<void(std::span<const std::byte> line, sample& into)> parse;
  /// Blank lines are no records, but are counted: see is_blank.
  bool passes_blank_lines = false;
};

/// Each line is a record; sets the field "text".
line_format text_lines();

/// Each line that is not blank is an object: see set_json_fields.
line_format json_object_lines(json_types types = {});

} // namespace leat
