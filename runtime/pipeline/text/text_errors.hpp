#pragma once

#include "runtime/pipeline/error_list.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <string>

namespace leat {

<<<<<<< HEAD
/// Collects everything that is wrong with a pipeline's text, or with another form of a pipeline, so
/// that it can be reported at once.
class text_errors {
public:
  text_errors() = default;
  /// `stage` is the stage of an error that lists several.
  explicit text_errors(std::string stage) : stage_(std::move(stage)) {}

  /// Adds a `text_error`.
  void add(const text_position& at, const std::string& got, std::string needed);
  /// Adds the error that a function threw for the call at this place, with the place after `got`.
  void add(const text_position& at, const error& x);
  /// Adds an error without a place.
  void add(error x);

  std::size_t size() const noexcept { return count_; }

  /// Throws the error that was added, or one that lists all of them, with the code of the first.
  void check() const;

private:
  std::string stage_ = "pipeline text";
  std::vector<error> first_;
  std::size_t count_ = 0;
=======
/// All that is wrong with a pipeline's text, or with another form of a pipeline.
class text_errors : public error_list {
public:
  explicit text_errors(std::string stage = "pipeline text") : error_list(std::move(stage)) {}

  using error_list::add;
  /// Adds a `text_error`.
  void add(const text_position& at, const std::string& got, std::string needed);
  /// Adds what a function threw for the call at this place, with the place after `got`.
  void add(const text_position& at, const error& x);
>>>>>>> 417a053 (What was written twice: one counting iterator, one reading of a record's item, one list of errors, one limit of workers; sources by folder)
};

} // namespace leat
