#include "runtime/base/descriptor_keeper.hpp"

#include <utility>

namespace leat {

namespace {

thread_local constinit descriptor_keeper* keeper_of_thread = nullptr;

} // namespace

with_keeper::with_keeper(descriptor_keeper& x) noexcept
    : before_(std::exchange(keeper_of_thread, &x)) {}

with_keeper::~with_keeper() {
  keeper_of_thread = before_;
}

bool give_kept_descriptor() noexcept {
  return keeper_of_thread && keeper_of_thread->give_one();
}

} // namespace leat
