#pragma once

#include "runtime/pipeline/functions/function_text.hpp"

#include <limits>
#include <optional>
#include <string>

namespace leat {

/// Numbers from a lower to an upper bound, both inclusive. NaN lies outside any bounds.
template <class T>
class bounds {
public:
  using limits = std::numeric_limits<T>;

  bounds(const char* function, std::optional<T> min, std::optional<T> max)
      : min_(min.value_or(limits::has_infinity ? -limits::infinity() : limits::lowest())),
        max_(max.value_or(limits::has_infinity ? limits::infinity() : limits::max())) {
    if (!(min_ <= max_))
      refuse_argument(function, "bounds" + given("min", min) + given("max", max),
                      "a min that is at most max");
  }

  bool operator()(T x) const { return min_ <= x && x <= max_; }

private:
  static std::string given(const char* name, std::optional<T> x) {
    return word_of_parameter(preset_parameter<std::optional<T>>{name}, x);
  }

  T min_;
  T max_;
};

} // namespace leat
