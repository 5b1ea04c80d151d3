#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// Hands out objects, and takes each back when nobody holds it any more, in whatever thread that
/// is: new memory often costs more than what is done with it. Objects may outlive the pool. Any
/// thread.
///
/// T has a default constructor and `bool renew() noexcept`, which prepares a returned object for
/// its next user, or returns false if it is better freed.
template <class T>
class object_pool : public std::enable_shared_from_this<object_pool<T>> {
public:
  /// Keeps at most `most_kept` returned objects, and frees others.
  explicit object_pool(std::size_t most_kept) : most_kept_(most_kept) {}

  /// An object that is new or was renewed. Throws std::bad_alloc.
  std::shared_ptr<T> take() {
    std::unique_ptr<T> x;
    {
      const mutex_lock lock{mutex_};
      kept_.reserve(most_kept_); // so that take_back cannot fail
      if (!kept_.empty()) {
        x = std::move(kept_.back());
        kept_.pop_back();
      }
    }
    if (!x)
      x = std::make_unique<T>();
    auto* const raw = x.release();
    // If the constructor of shared_ptr throws, it has called the deleter.
    return {raw, [home = this->shared_from_this()](T* back) {
              home->take_back(std::unique_ptr<T>{back});
            }};
  }

private:
  void take_back(std::unique_ptr<T> x) noexcept {
    if (!x->renew())
      return;
    const mutex_lock lock{mutex_};
    if (kept_.size() < most_kept_)
      kept_.push_back(std::move(x));
  }

  const std::size_t most_kept_;
  mutex mutex_;
  std::vector<std::unique_ptr<T>> kept_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
