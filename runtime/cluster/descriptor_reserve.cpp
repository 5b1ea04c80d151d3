#include "runtime/cluster/descriptor_reserve.hpp"

#include "runtime/storage/file_descriptor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace leat {

descriptor_reserve::~descriptor_reserve() {
  while (give_one()) {
  }
}

void descriptor_reserve::begin() noexcept {
  has_begun_ = true;
  fill();
}

bool descriptor_reserve::give_one() noexcept {
  for (auto& x : kept_)
    if (const int one = x.exchange(none); one != none) {
      ::close(one);
      return true;
    }
  return false;
}

void descriptor_reserve::fill() noexcept {
  if (!has_begun_)
    return;
  const int problem = errno;
  for (auto& x : kept_) {
    if (x != none)
      continue;
    auto one = opened([] { return ::eventfd(0, EFD_CLOEXEC); }); // needs no file system
    int expected = none;
    if (one && x.compare_exchange_strong(expected, one.get()))
      (void)one.release();
  }
  errno = problem;
}

} // namespace leat
