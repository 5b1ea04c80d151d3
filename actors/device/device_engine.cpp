#include "actors/device/device_engine.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/rows/inline_order.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// One batch that is ready on the device, and one that is on its way.
constexpr std::size_t slots_beside_leases = 2;
/// Slots of the host whose batches are over before they are copied.
constexpr std::size_t most_waiting = 2;

void refuse_field(const std::string& got, const batch_layout& layout) {
  std::string have;
  for (const auto& x : layout.fields())
    if (!x.is_bytes())
      have += (have.empty() ? "" : ", ") + x.name;
  refuse_argument("loader.device_fields", got,
                  have.empty() ? "a pipeline with numeric fields, or the device \"cpu\""
                               : "some of: " + have);
}

} // namespace

std::vector<device_field_plan> plan_device_fields(const batch_layout& layout, std::size_t rows,
                                                  const std::vector<std::string>& names) {
  const auto& fields = layout.fields();
  for (const auto& name : names) {
    const auto i = layout.find(name);
    if (i == fields.size())
      refuse_field("\"" + name + "\", which no batch has", layout);
    if (fields[i].is_bytes())
      refuse_field("\"" + name + "\", which is bytes and stays on the host", layout);
  }
  std::vector<device_field_plan> plan;
  for (const auto& x : fields) {
    const bool goes = names.empty() ? !x.is_bytes()
                                    : std::find(names.begin(), names.end(), x.name) != names.end();
    plan.push_back(goes ? device_field_plan{x.row_bytes() * rows, x.ragged} : device_field_plan{});
  }
  return plan;
}

device_engine::device_engine(std::shared_ptr<batch_engine> makes, device_parts parts,
                             std::shared_ptr<const job_plan> plan,
                             std::shared_ptr<job_metrics> metrics, bool has_workers)
    : copies_(parts.calls), makes_(std::move(makes)), parts_(std::move(parts)),
      plan_(std::move(plan)), metrics_(std::move(metrics)), has_copier_(has_workers),
      slots_(makes_, most_waiting) {
  if (has_copier_)
    copier_.add("loader", [this] { copy_ahead(); });
  else
    make_device_slots();
}

device_engine::~device_engine() {
  shutdown();
}

std::size_t device_engine::num_device_slots() const noexcept {
  return parts_.leases + (has_copier_ ? slots_beside_leases : 1);
}

void device_engine::make_device_slots() {
  for (std::size_t i = 0; i < num_device_slots(); ++i)
    ring_.put(std::make_shared<device_slot>(parts_.calls, parts_.host, parts_.fields));
}

std::size_t device_engine::copy_dense(const batch_slot& from, std::size_t field, device_slot& to) {
  const auto& memory = from.memory();
  const auto all = memory.dense_bytes(field);
  const auto row = all / memory.rows();
  if ((from.summary().on_device >> field & 1) == 0) {
    to.copy(field, {memory.dense(field), all});
    return all;
  }
  to.copy_within(field, {memory.on_device(field), all});
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < memory.rows();) { // those that are on the host, many at a time
    const auto first = i;
    while (i < memory.rows() && !from.is_on_device(i, field))
      ++i;
    to.copy(field, {memory.dense(field) + first * row, (i - first) * row}, first * row);
    bytes += (i - first) * row;
    i += i == first ? 1 : 0;
  }
  return bytes;
}

void device_engine::copy(batch_slot& from, device_slot& to) {
  const auto begin = steady_ns();
  to.begin(copies_.get());
  auto& memory = from.memory();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parts_.fields.size(); ++i) {
    const auto& field = parts_.fields[i];
    if (field.is_ragged) {
      const auto& all = memory.gather(i);
      to.copy(i, all.values, all.offsets);
      bytes += all.values.size() + all.offsets.size() * sizeof(all.offsets[0]);
    } else if (field.dense_bytes > 0) {
      bytes += copy_dense(from, i, to);
    }
  }
  to.end();
  metrics_->copied(begin, steady_ns(), from.plan().epoch, from.plan().step, bytes);
  metrics_->device.pinned.set(parts_.host->is_pinned() ? 1 : 0);
}

slot_ptr device_engine::next_copied() {
  slot_ptr slot; // before `to`, which where a copy fails waits for what reads this
  auto to = ring_.take();
  if (!to)
    return nullptr;
  try {
    slots_.give_back_copied();
    makes_->make_room(num_device_slots() + most_waiting); // at once: later they would disturb
    slot = makes_->next();
    if (slot->plan().what == batch_plan::kind::batch) {
      copy(*slot, *to);
      slot->on_device() = std::move(to);
    } else {
      ring_.put(std::move(to));
    }
    return slot;
  } catch (const patience_ended&) {
    ring_.put(std::move(to)); // the next call continues
    throw;
  }
}

void device_engine::copy_ahead() {
  try {
    make_device_slots();
    while (auto slot = next_copied()) {
      const auto word = slot->on_device() ? nullptr : slot;
      if (word) {
        const mutex_lock lock{mutex_};
        word_ = word;
      }
      ready_.push(std::move(slot));
      if (word)
        wait_until_judged(word);
    }
  } catch (...) {
    ready_.fail(error_in_flight(errc::io, {.stage = "loader"}));
  }
}

/// More of the same may follow at once, one for each slot that there is.
void device_engine::wait_until_judged(const slot_ptr& word) {
  mutex_lock lock{mutex_};
  while (word_ == word && !is_interrupted_)
    judged_.wait(mutex_);
}

slot_ptr device_engine::wait_for_next() {
  if (auto slot = ready_.try_pop())
    return std::move(*slot);
  const auto begin = steady_ns();
  for (;;) {
    if (*plan_->cancelled)
      throw_interrupted();
    if (auto slot = ready_.pop_until(end_of_patience())) {
      metrics_->waited(begin, steady_ns(), (*slot)->plan().epoch, (*slot)->plan().step);
      return std::move(*slot);
    }
    check_patience();
  }
}

slot_ptr device_engine::next() {
  if (has_copier_)
    return wait_for_next();
  auto slot = next_copied();
  if (!slot)
    throw_interrupted();
  return slot;
}

void device_engine::recycle(slot_ptr slot) {
  try {
    auto to = std::exchange(slot->on_device(), nullptr);
    if (!to) {
      {
        const mutex_lock lock{mutex_};
        if (word_ == slot)
          word_ = nullptr;
      }
      judged_.notify_one();
      return slots_.give_back(std::move(slot));
    }
    if (to->phase() == device_phase::leased)
      to->fence();
    else
      to->drop();
    if (to->is_copied())
      slots_.give_back(std::move(slot));
    else
      slots_.give_back_after(std::move(slot), to);
    ring_.put(std::move(to));
  } catch (...) { // the device has failed: nobody knows what it still reads
    ready_.fail(error_in_flight(errc::io, {.stage = "loader"}));
  }
}

void device_engine::rewind(std::uint64_t run) {
  std::vector<slot_ptr> copied_ahead;
  while (auto slot = ready_.try_pop())
    copied_ahead.push_back(std::move(*slot));
  makes_->rewind(run);
  for (auto& slot : copied_ahead)
    recycle(std::move(slot));
}

void device_engine::interrupt() noexcept {
  ring_.interrupt(); // first: whoever waits for less takes no more from here
  {
    const mutex_lock lock{mutex_};
    is_interrupted_ = true;
  }
  judged_.notify_one();
  ready_.interrupt();
  makes_->interrupt();
}

void device_engine::wait_for_copies() noexcept {
  try {
    const auto end = parts_.calls->make_event();
    parts_.calls->record(end, copies_.get());
    parts_.calls->wait_here(end);
    parts_.calls->end_event(end);
  } catch (...) { // the device has failed, and copies nothing any more
  }
}

bool device_engine::shutdown() noexcept {
  plan_->cancelled->store(true);
  interrupt();
  const mutex_lock lock{shutdown_mutex_};
  copier_.join();
  const bool has_ended = makes_->shutdown();
  wait_for_copies(); // before the memory that they read
  while (ready_.try_pop())
    ;
  slots_.clear();
  ring_.clear();
  return has_ended;
}

} // namespace leat
