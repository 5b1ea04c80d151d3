#pragma once

#include <leat/error.hpp>

#include <string>
#include <vector>

namespace leat {

/// All errors of a pipeline: one is thrown as it is, several as a list.
class error_list {
public:
  void add(const error& x) { errors_.push_back(x); }
  /// An `errc::invalid_argument`.
  void add(std::string stage, std::string got, std::string needed);
  /// Adds what `function` throws as `error`.
  template <class Function>
  void collect(Function function) {
    try {
      function();
    } catch (const error& problem) {
      add(problem);
    }
  }
  /// Throws where there are any, with the code and the file of the first.
  void check() const;

private:
  std::vector<error> errors_;
};

} // namespace leat
