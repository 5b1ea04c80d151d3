#include "runtime/order/iterators/made_samples.hpp"

#include <utility>

namespace leat {

std::shared_ptr<made_sample> made_samples::take() {
  std::unique_ptr<made_sample> x;
  {
    const mutex_lock lock{mutex_};
    free_.reserve(most_samples); // so that putting one back cannot fail
    if (!free_.empty()) {
      x = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!x)
    x = std::make_unique<made_sample>();
  auto* const raw = x.release();
  // If this throws, it has called the deleter.
  return {raw, [home = shared_from_this()](made_sample* back) {
            home->put_back(std::unique_ptr<made_sample>{back});
          }};
}

void made_samples::put_back(std::unique_ptr<made_sample> x) noexcept {
  if (x->bytes > most_bytes_each)
    return;
  const mutex_lock lock{mutex_};
  if (free_.size() < most_samples)
    free_.push_back(std::move(x));
}

} // namespace leat
