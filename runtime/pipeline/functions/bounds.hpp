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
        max_(max.value_or(limits::has_infinity ? limits::infinity() : limits::max())),
        text_(word_if("min", min) + word_if("max", max)) {
    if (!(min_ <= max_))
      refuse_argument(function, "bounds" + text_, "a min that is at most max");
  }

  bool operator()(T x) const { return min_ <= x && x <= max_; }

  /// " min=1 max=3", without bounds that were not given.
  const std::string& text() const { return text_; }

private:
  T min_;
  T max_;
  std::string text_;
};

} // namespace leat
