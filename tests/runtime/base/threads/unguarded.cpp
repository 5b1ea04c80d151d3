// Not part of any target: .ci/run checks that clang refuses this.
#include "runtime/base/threads/mutex.hpp"

namespace leat {

class unguarded {
public:
  int get() const { return n_; }

private:
  mutable mutex mutex_;
  int n_ LEAT_GUARDED_BY(mutex_) = 0;
};

int use_unguarded() {
  return unguarded{}.get();
}

} // namespace leat
