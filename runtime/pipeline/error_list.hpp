#pragma once

#include <leat/error.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Collects everything that is wrong with one thing, so that it can be reported at once: one error
/// is thrown as it is, several as a list.
class error_list {
public:
  /// `stage` is what a list of several errors names as its stage.
  explicit error_list(std::string stage) : stage_(std::move(stage)) {}

  void add(error x);
  /// Adds an `errc::invalid_argument`.
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

  std::size_t size() const noexcept { return count_; }

  /// Throws if there are any, with the code and the file of the first. A list shows the first 20
  /// and says how many more there are.
  void check() const;

private:
  std::string stage_;
  std::vector<error> first_;
  std::size_t count_ = 0;
};

} // namespace leat
