#include "runtime/storage/remote/aws_keeper.hpp"

#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/xxh3.hpp"

#include <unistd.h>

#include <span>
#include <string>
#include <utility>

namespace leat {

namespace {

/// How many seconds before they expire this process renews them: not when all others do.
std::int64_t lead_of(const aws_credentials& x) {
  const auto id = x.access_key + " " + std::to_string(::getpid());
  return 300 + static_cast<std::int64_t>(xxh3_128(std::as_bytes(std::span{id})).low % 300);
}

} // namespace

aws_keeper::aws_keeper(aws_issuer by) : by_(std::move(by)) {
  auto first = by_.issue();
  const mutex_lock lock{mutex_};
  take(std::move(first));
}

aws_keeper::~aws_keeper() {
  std::thread last;
  {
    const mutex_lock lock{mutex_};
    last = std::move(renewing_);
  }
  if (last.joinable())
    last.join();
}

aws_credentials aws_keeper::current(std::int64_t time) {
  const mutex_lock lock{mutex_};
  if (time >= renew_at_)
    renew_soon(time);
  return now_.are;
}

void aws_keeper::renew(std::int64_t time) {
  const mutex_lock lock{mutex_};
  renew_soon(time);
}

void aws_keeper::take(issued_credentials x) {
  now_ = std::move(x);
  renew_at_ =
      now_.until ? *now_.until - lead_of(now_.are) : std::numeric_limits<std::int64_t>::max();
}

void aws_keeper::renew_soon(std::int64_t time) {
  if (is_renewing_)
    return;
  if (renewing_.joinable())
    renewing_.join(); // it has ended
  is_renewing_ = true;
  renew_at_ = time + pause_after_failure;
  try {
    renewing_ = begin_thread("aws credentials", [this] {
      std::optional<issued_credentials> made;
      try {
        made = by_.issue();
      } catch (...) { // the old ones are used until a service refuses them
      }
      const mutex_lock lock{mutex_};
      if (made)
        take(std::move(*made));
      is_renewing_ = false;
    });
  } catch (...) { // no thread now: later
    is_renewing_ = false;
  }
}

} // namespace leat
