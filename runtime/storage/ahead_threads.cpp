#include "runtime/storage/ahead_threads.hpp"

#include "runtime/base/threads/begin_thread.hpp"

#include <leat/error.hpp>

#include <utility>

namespace leat {

ahead_threads::~ahead_threads() {
  std::vector<std::thread> all;
  {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    all.swap(threads_);
  }
  some_.notify_all();
  for (auto& x : all)
    x.join();
}

void ahead_threads::add(work& x) {
  {
    const mutex_lock lock{mutex_};
    make_thread();
    push(x);
  }
  some_.notify_one();
}

/// The list is singly linked, so unlinking `x` needs the element before it.
void ahead_threads::remove(work& x) {
  const mutex_lock lock{mutex_};
  while (x.threads_ > 0)
    ran_.wait(mutex_);
  work* before = nullptr;
  auto* at = first_;
  while (at && at != &x)
    before = std::exchange(at, at->next_);
  if (!at)
    return;
  (before ? before->next_ : first_) = x.next_;
  if (last_ == &x)
    last_ = before;
  --waiting_;
}

void ahead_threads::run() {
  mutex_lock lock{mutex_};
  for (;;) {
    ++free_;
    while (!first_ && !is_ending_)
      some_.wait(mutex_);
    --free_;
    if (!first_)
      return;
    auto& x = pop();
    ++x.threads_;
    lock.unlock();
    const bool again = x.run();
    lock.lock();
    --x.threads_;
    if (again) {
      push(x);
      if (waiting_ > 1) // this thread itself takes one of them
        some_.notify_one();
    }
    ran_.notify_all();
  }
}

void ahead_threads::make_thread() {
  if (free_ > waiting_ || threads_.size() == most_)
    return;
  threads_.reserve(threads_.size() + 1);
  try {
    threads_.push_back(begin_thread("unpack ahead", [this] { run(); }));
  } catch (const error&) { // the threads that exist do all the work, more slowly
    if (threads_.empty())
      throw;
  }
}

void ahead_threads::push(work& x) noexcept {
  x.next_ = nullptr;
  (last_ ? last_->next_ : first_) = &x;
  last_ = &x;
  ++waiting_;
}

ahead_threads::work& ahead_threads::pop() noexcept {
  auto& x = *first_;
  first_ = x.next_;
  if (!first_)
    last_ = nullptr;
  --waiting_;
  return x;
}

} // namespace leat
