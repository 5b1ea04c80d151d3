#include "runtime/device/device_slot.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace leat {

namespace {

/// What textures and wide loads ask for at most.
constexpr std::size_t alignment = 512;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

device_slot::device_slot(std::shared_ptr<device_calls> calls, std::shared_ptr<pinned_memory> host,
                         const std::vector<device_field_plan>& fields)
    : calls_(std::move(calls)), host_(std::move(host)), places_(fields.size()) {
  std::size_t all = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    all += aligned(fields[i].dense_bytes);
    places_[i].is_there = fields[i].is_ragged || fields[i].dense_bytes > 0;
  }
  copied_ = calls_->make_event();
  if (all == 0)
    return;
  dense_ = calls_->allocate(all);
  auto* at = dense_;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    places_[i].at = at;
    at += aligned(fields[i].dense_bytes);
  }
}

device_slot::~device_slot() {
  try {
    calls_->wait_here(copied_);
    wait_here_for_uses();
  } catch (...) { // the device has failed, or the process ends: then its driver frees all
  }
  for (auto& x : places_)
    if (x.memory)
      calls_->release(x.memory);
  if (dense_)
    calls_->release(dense_);
  for (const auto x : ends_)
    calls_->end_event(x);
  calls_->end_event(copied_);
}

device_phase device_slot::phase() const noexcept {
  const mutex_lock lock{mutex_};
  return phase_;
}

/// A step that the phase does not allow ends the process: memory would be used twice.
void device_slot::enter(device_phase next) {
  if (!may_follow(phase_, next))
    std::terminate();
  phase_ = next;
}

void device_slot::wait_here_for_uses() {
  const mutex_lock lock{mutex_};
  if (phase_ != device_phase::fenced)
    return;
  for (std::size_t i = 0; i < used_.size(); ++i)
    calls_->wait_here(ends_[i]);
  if (is_used_anywhere_)
    calls_->wait_for_all();
}

void device_slot::begin(device_stream copies) {
  const mutex_lock lock{mutex_};
  copies_ = copies;
  if (phase_ == device_phase::fenced) {
    for (std::size_t i = 0; i < used_.size(); ++i)
      calls_->wait(copies, ends_[i]);
    if (is_used_anywhere_)
      calls_->wait_for_all();
  }
  used_.clear();
  is_used_anywhere_ = false;
  enter(device_phase::in_flight);
}

void device_slot::copy(std::size_t field, std::span<const std::byte> from) {
  if (!from.empty())
    calls_->copy(places_[field].at, from.data(), from.size(), copies_);
}

/// Work that was given before begin() may still read what is replaced: the thread waits for it,
/// which happens only when a batch is longer than all before.
void device_slot::grow(place& x, std::size_t bytes) {
  const auto more = aligned(std::max(bytes, 2 * x.capacity));
  if (x.memory) {
    calls_->wait_for_all();
    calls_->release(std::exchange(x.memory, nullptr));
    x.capacity = 0;
  }
  x.staged = huge_buffer{more, host_};
  x.memory = calls_->allocate(more);
  x.capacity = more;
}

void device_slot::copy(std::size_t field, std::span<const std::byte> values,
                       std::span<const std::uint64_t> offsets) {
  auto& x = places_[field];
  const auto begin = aligned(offsets.size_bytes());
  calls_->wait_here(copied_); // of the batch before, whose copy read what is staged
  if (x.capacity < begin + values.size())
    grow(x, begin + values.size());
  std::memcpy(x.staged.data(), offsets.data(), offsets.size_bytes());
  if (!values.empty())
    std::memcpy(x.staged.data() + begin, values.data(), values.size());
  x.at = x.memory + begin;
  calls_->copy(x.memory, x.staged.data(), begin + values.size(), copies_);
}

void device_slot::end() {
  calls_->record(copied_, copies_);
}

void device_slot::drop() {
  const mutex_lock lock{mutex_};
  enter(device_phase::free);
}

bool device_slot::is_copied() {
  return calls_->is_reached(copied_);
}

bool device_slot::lend() {
  const bool is_done = is_copied();
  const mutex_lock lock{mutex_};
  if (is_done)
    enter(device_phase::ready);
  enter(device_phase::leased);
  return is_done;
}

void device_slot::make_wait(device_stream stream) {
  used_on(stream);
  calls_->wait(stream, copied_);
}

void device_slot::used_on(device_stream stream) {
  const mutex_lock lock{mutex_};
  if (std::find(used_.begin(), used_.end(), stream) == used_.end())
    used_.push_back(stream);
}

void device_slot::used_anywhere() {
  const mutex_lock lock{mutex_};
  is_used_anywhere_ = true;
}

device_event device_slot::event(std::size_t i) {
  while (ends_.size() <= i)
    ends_.push_back(calls_->make_event());
  return ends_[i];
}

/// A stream that the driver does not know (any more) may still have work: then all counts as used.
void device_slot::fence() noexcept {
  const mutex_lock lock{mutex_};
  for (std::size_t i = 0; i < used_.size(); ++i)
    try {
      calls_->record(event(i), used_[i]);
    } catch (...) {
      is_used_anywhere_ = true;
      used_.resize(std::min(used_.size(), ends_.size()));
    }
  enter(device_phase::fenced);
}

bool device_slot::is_idle() {
  const mutex_lock lock{mutex_};
  if (phase_ != device_phase::fenced)
    return true;
  if (is_used_anywhere_)
    return false;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!calls_->is_reached(ends_[i]))
      return false;
  return true;
}

} // namespace leat
