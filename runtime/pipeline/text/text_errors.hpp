#pragma once

#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// All that is wrong with a pipeline's text, or another form of a pipeline, so that it is said at
/// once.
class text_errors {
public:
  text_errors() = default;
  /// `stage` is what the list of several errors is of.
  explicit text_errors(std::string stage) : stage_(std::move(stage)) {}

  /// A `text_error`.
  void add(const text_position& at, const std::string& got, std::string needed);
  /// What a function threw for the call at this place, with the place after `got`.
  void add(const text_position& at, const error& x);
  /// What has no place.
  void add(error x);

  std::size_t size() const noexcept { return count_; }

  /// Throws the error that was added, or one that lists all, with the code of the first.
  void check() const;

private:
  std::string stage_ = "pipeline text";
  std::vector<error> first_;
  std::size_t count_ = 0;
};

} // namespace leat
