#pragma once

#include "runtime/pipeline/error_list.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <string>

namespace leat {

/// Collects everything that is wrong with a pipeline's text, or with another form of a pipeline.
class text_errors : public error_list {
public:
  explicit text_errors(std::string stage = "pipeline text") : error_list(std::move(stage)) {}

  using error_list::add;
  /// Adds a `text_error`.
  void add(const text_position& at, const std::string& got, std::string needed);
  /// Adds the error that a function threw for the call at this place, with the place after `got`.
  void add(const text_position& at, const error& x);
};

} // namespace leat
