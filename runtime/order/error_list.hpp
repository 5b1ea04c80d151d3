#pragma once

#include <leat/error.hpp>

#include <string>
#include <vector>

namespace leat {

/// All errors of a pipeline: a single one is thrown as it is, several as a list.
class error_list {
public:
  void add(const error& x) { errors_.push_back(x); }
  /// Adds an `errc::invalid_argument`.
  void add(std::string stage, std::string got, std::string needed);
  /// Adds the error that `function` throws, if any.
  template <class Function>
  void collect(Function function) {
    try {
      function();
    } catch (const error& problem) {
      add(problem);
    }
  }
  /// Throws if there are any, with the code and the file of the first.
  void check() const;

private:
  std::vector<error> errors_;
};

} // namespace leat
