#include "runtime/storage/cache/cached_read.hpp"

#include <utility>

namespace leat {

void fail_like(range_fetch& x, const error& failure) {
  x.fail(failure.code(), failure.details().got, failure.details().needed);
}

void cached_read::begin(const std::shared_ptr<cached_read>& x) {
  if (x->stop.stop_possible())
    x->on_stop_.emplace(x->stop, [weak = std::weak_ptr{x}] {
      if (const auto self = weak.lock())
        self->request_stop();
    });
}

void cached_read::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  const mutex_lock lock{mutex_};
  if (!has_ended_)
    fetch_->put(offset, bytes);
}

void cached_read::add_part() {
  const mutex_lock lock{mutex_};
  ++parts_;
}

void cached_read::end_part(const std::shared_ptr<const error>& failure) {
  {
    const mutex_lock lock{mutex_};
    --parts_;
    if (!failure_)
      failure_ = failure;
  }
  end_if_done();
}

std::shared_ptr<range_fetch> cached_read::begin_direct(const byte_range& part, read_done done) {
  const mutex_lock lock{mutex_};
  if (is_stopped_ || has_ended_)
    return {};
  auto made = fetch_->part(part, std::move(done));
  ++direct_;
  return made;
}

void cached_read::end_direct(const std::shared_ptr<const error>& failure) {
  {
    const mutex_lock lock{mutex_};
    --direct_;
    --parts_;
    if (!failure_)
      failure_ = failure;
  }
  end_if_done();
}

void cached_read::request_stop() {
  {
    const mutex_lock lock{mutex_};
    is_stopped_ = true;
  }
  end_if_done();
}

void cached_read::end_if_done() {
  std::shared_ptr<const error> failure;
  bool is_stopped = false;
  {
    const mutex_lock lock{mutex_};
    // The memory is the caller's as soon as the fetch has ended.
    if (has_ended_ || direct_ > 0 || (parts_ > 0 && !is_stopped_))
      return;
    has_ended_ = true;
    is_stopped = parts_ > 0;
    failure = failure_;
  }
  if (is_stopped)
    return fetch_->fail(errc::io, "a read that was stopped", "a job that continues");
  if (failure)
    return fail_like(*fetch_, *failure);
  fetch_->has_come(range.end);
  fetch_->succeed();
}

} // namespace leat
