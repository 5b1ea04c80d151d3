#include "runtime/device/stream_uses.hpp"

#include <algorithm>

namespace leat {

namespace {

/// CU_STREAM_PER_THREAD, another stream in each thread: the one whose lease ends could not mark it.
const device_stream stream_of_thread{reinterpret_cast<void*>(2)};

/// CU_STREAM_LEGACY, which null means, too.
const device_stream legacy_stream{reinterpret_cast<void*>(1)};

} // namespace

stream_uses::~stream_uses() {
  for (const auto x : ends_)
    calls_->end_event(x);
}

void stream_uses::add(device_stream x) {
  if (!x.handle)
    x = legacy_stream;
  if (x == stream_of_thread)
    has_unnamed_ = true;
  else if (std::find(streams_.begin(), streams_.end(), x) == streams_.end()) {
    calls_->record(event(streams_.size()), x); // throws if it is not one of this device's
    streams_.push_back(x);
  }
}

device_event stream_uses::event(std::size_t i) {
  while (ends_.size() <= i)
    ends_.push_back(calls_->make_event());
  return ends_[i];
}

/// A stream that the driver does not know (any more) may still have work: then the host waits for
/// all.
void stream_uses::end() noexcept {
  try {
    for (std::size_t i = 0; i < streams_.size(); ++i)
      calls_->record(event(i), streams_[i]);
  } catch (...) {
    streams_.clear();
    has_unnamed_ = true;
  }
}

void stream_uses::make_wait(device_stream stream) {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    calls_->wait(stream, ends_[i]);
  if (has_unnamed_)
    calls_->wait_for_all();
}

void stream_uses::wait_here() {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    calls_->wait_here(ends_[i]);
  if (has_unnamed_)
    calls_->wait_for_all();
}

bool stream_uses::are_over() {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (!calls_->is_reached(ends_[i]))
      return false;
  return !has_unnamed_;
}

void stream_uses::forget() noexcept {
  streams_.clear();
  has_unnamed_ = false;
}

} // namespace leat
