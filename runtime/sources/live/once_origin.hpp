#pragma once

#include "runtime/sources/live/once_input.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace leat {

/// What a source that exists once is read from, and where its records are to be kept, before
/// anything is opened: of several processes one reads it, and only that one opens its journal.
struct once_origin {
  /// Not null.
  std::shared_ptr<once_input> input = {};
  /// Directory; empty: none.
  std::string journal = {};
  journal_options options = {};
  /// How many were asked for: more than one are refused when the source is opened.
  std::uint64_t journals = 0;
};

} // namespace leat
