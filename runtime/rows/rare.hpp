#pragma once

#include <memory>
#include <utility>

namespace leat {

/// A value or none, like std::optional, for values that are large and hardly ever there: what has
/// one of these stays small, and is in fewer places of the cache.
template <class T>
class rare {
public:
  rare& operator=(T x) {
    value_ = std::make_unique<T>(std::move(x));
    return *this;
  }
  void reset() noexcept { value_.reset(); }

  bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return value_.get(); }
  const T* operator->() const noexcept { return value_.get(); }

private:
  std::unique_ptr<T> value_;
};

} // namespace leat
