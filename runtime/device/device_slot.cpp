#include "runtime/device/device_slot.hpp"

#include "runtime/device/device_kernels.hpp"

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

/// A step that the phase does not allow ends the process: memory would be used twice.
void enter(device_phase& now, device_phase next) {
  if (!may_follow(now, next))
    std::terminate();
  now = next;
}

} // namespace

device_slot::device_slot(std::shared_ptr<device_calls> calls, std::shared_ptr<pinned_memory> host,
                         const std::vector<device_field_plan>& fields)
    : calls_(std::move(calls)), host_(std::move(host)), places_(fields.size()), uses_(calls_) {
  std::size_t all = 0;
  for (const auto& x : fields)
    all += aligned(x.dense_bytes);
  dense_ = {calls_, all};
  auto* at = dense_.data();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto bytes = fields[i].dense_bytes;
    places_[i].is_there = fields[i].is_ragged || bytes > 0;
    if (bytes > 0)
      places_[i].at = std::exchange(at, at + aligned(bytes));
  }
  copied_ = calls_->make_event();
}

device_slot::~device_slot() {
  try {
    const mutex_lock lock{mutex_};
    calls_->wait_here(copied_);
    if (!is_marked_) // something failed half way, and the stream may be gone
      calls_->wait_for_all();
    if (phase_ == device_phase::fenced)
      uses_.wait_here();
  } catch (...) { // the device has failed, or the process ends: then its driver frees all
  }
  calls_->end_event(copied_);
}

device_phase device_slot::phase() const noexcept {
  const mutex_lock lock{mutex_};
  return phase_;
}

void device_slot::begin(device_stream copies) {
  const mutex_lock lock{mutex_};
  copies_ = copies;
  if (phase_ == device_phase::fenced)
    uses_.make_wait(copies);
  uses_.forget();
  enter(phase_, device_phase::in_flight);
  is_marked_ = false;
}

void device_slot::copy(std::size_t field, std::span<const std::byte> from, std::size_t at) {
  if (!from.empty())
    calls_->copy(places_[field].at + at, from.data(), from.size(), copies_);
}

void device_slot::copy_within(std::size_t field, std::span<const std::byte> from) {
  calls_->kernels().copy_within(places_[field].at, from.data(), from.size(), copies_);
}

/// The device must not use what is replaced any more.
void device_slot::place::grow(std::size_t bytes, const std::shared_ptr<device_calls>& calls,
                              const std::shared_ptr<pinned_memory>& host) {
  const auto more = aligned(std::max(bytes, 2 * ragged.size()));
  ragged = {}; // first: there may be no room for both
  staged = {};
  staged = huge_buffer{more, host};
  ragged = {calls, more};
}

void device_slot::copy(std::size_t field, std::span<const std::byte> values,
                       std::span<const std::uint64_t> offsets) {
  auto& x = places_[field];
  const auto begin = aligned(offsets.size_bytes());
  calls_->wait_here(copied_); // of the batch before, whose copy read what is staged
  if (x.ragged.size() < begin + values.size()) {
    calls_->record(copied_, copies_); // after work that still reads what is replaced
    calls_->wait_here(copied_);
    x.grow(begin + values.size(), calls_, host_);
  }
  std::memcpy(x.staged.data(), offsets.data(), offsets.size_bytes());
  if (!values.empty())
    std::memcpy(x.staged.data() + begin, values.data(), values.size());
  x.at = x.ragged.data() + begin;
  calls_->copy(x.ragged.data(), x.staged.data(), begin + values.size(), copies_);
}

void device_slot::end() {
  calls_->record(copied_, copies_);
  is_marked_ = true;
}

void device_slot::drop() {
  if (!is_marked_)
    end(); // what is copied so far is still read
  const mutex_lock lock{mutex_};
  enter(phase_, device_phase::free);
}

bool device_slot::is_copied() {
  return calls_->is_reached(copied_);
}

bool device_slot::lend() {
  const bool is_done = is_copied();
  const mutex_lock lock{mutex_};
  if (is_done)
    enter(phase_, device_phase::ready);
  enter(phase_, device_phase::leased);
  return is_done;
}

void device_slot::make_wait(device_stream stream) {
  calls_->wait(stream, copied_);
  used_on(stream);
}

void device_slot::used_on(std::optional<device_stream> stream) {
  const mutex_lock lock{mutex_};
  if (stream)
    uses_.add(*stream);
  else
    uses_.add_unnamed();
}

void device_slot::fence() noexcept {
  const mutex_lock lock{mutex_};
  uses_.end();
  enter(phase_, device_phase::fenced);
}

bool device_slot::is_idle() {
  const mutex_lock lock{mutex_};
  return phase_ != device_phase::fenced || uses_.are_over();
}

} // namespace leat
