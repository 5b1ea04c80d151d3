#include "runtime/rows/device_decoder.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/image/image_maker.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace leat {

namespace {

/// A group of so many is given to the device: enough for its threads, and few enough for the next
/// group to be made meanwhile.
constexpr std::size_t enough_images = 64;
/// At most: rows that are made together are in one group.
constexpr std::size_t most_images = 256;

/// Adds the time that it lives.
class timed : not_copied {
public:
  explicit timed(time_counter& to) noexcept : to_(to), begin_(steady_ns()) {}
  ~timed() { to_.add(std::chrono::nanoseconds{steady_ns() - begin_}); }

private:
  time_counter& to_;
  const std::int64_t begin_;
};

} // namespace

device_decoder::group::group(const device_decoding& job)
    : staging(job.staging, job.host), copied(job.calls, job.staging), scratch(job.calls, job.scratch),
      images({staging.data(), staging.size()}, job.scratch), done(job.calls->make_event()),
      told(most_images * sizeof(std::uint32_t), job.host) {}

device_decoder::device_decoder(std::shared_ptr<device_decoding> job, bool keeps_files)
    : job_(std::move(job)), keeps_files_(keeps_files), stream_(job_->calls->make_stream()) {}

device_decoder::~device_decoder() {
  while (is_busy())
    (void)finish_oldest();
  for (const auto& x : all_)
    job_->calls->end_event(x->done);
  job_->calls->end_stream(stream_);
}

// -- while a row is made

bool device_decoder::refuse(cpu_reason x) noexcept {
  job_->on_cpu[static_cast<std::size_t>(x)].add(1);
  return false;
}

bool device_decoder::take(const row_target& row, std::size_t field, const late_image& from) {
  if (are_read_)
    return refuse(cpu_reason::read);
  if (from.why)
    return refuse(*from.why);
  if (field >= 64)
    return refuse(cpu_reason::busy);
  const timed time{job_->prepared};
  recycle_finished();
  if (!find_places(from))
    return refuse(cpu_reason::no_places);
  if (!now_)
    begin_group();
  auto added = add(row, field, from);
  if (added == image_group::added::full) {
    const auto is_of_row = [&](const auto& x) { return x.row == row.dense.data(); };
    // All images of a row are in one group, and nothing is copied back over what is made at once.
    if (free_.empty() || job_->copies_back || std::any_of(now_->open.begin(), now_->open.end(), is_of_row))
      return refuse(cpu_reason::busy);
    flush();
    begin_group();
    added = add(row, field, from);
  }
  return added == image_group::added::yes || refuse(now_->images.why());
}

bool device_decoder::find_places(const late_image& from) {
  return (!from.work_bytes.empty() && read_work_places(from.work_bytes, from.file, places_))
         || as_work_places(*from.frame, from.places, places_);
}

image_group::added device_decoder::add(const row_target& row, std::size_t field,
                                       const late_image& from) {
  auto& to = *now_;
  if (to.images.size() == most_images)
    return image_group::added::full;
  const auto added = to.images.add({.file = from.file,
                                    .frame = from.frame,
                                    .places = places_,
                                    .plan = &from.plan,
                                    .form = &from.form,
                                    .erased = from.erased ? &*from.erased : nullptr,
                                    .pixels = row.on_device[field]});
  if (added != image_group::added::yes)
    return added;
  const auto number = to.images.size() - 1;
  to.row_of.push_back(0);
  to.open.push_back({row.dense.data(), field, number, row.dense[field], from});
  auto& image = to.open.back();
  if (keeps_files_) {
    image.kept.assign(from.file.begin(), from.file.end());
    image.from.file = image.kept;
  }
  if (job_->copies_back)
    to.back.push_back({number, row.dense[field], row.on_device[field],
                       row.layout->fields()[field].row_bytes()});
  return added;
}

/// Removes those for which `each` is true.
template <class Each>
void device_decoder::for_each_open(Each each) {
  const auto among = [&](group& x) { std::erase_if(x.open, [&](auto& y) { return each(x, y); }); };
  for (auto* x : busy_)
    among(*x);
  if (now_)
    among(*now_);
}

void device_decoder::withdraw(group& x, const open_image& image) noexcept {
  if (!x.is_given)
    x.images.withdraw(image.number);
  std::erase_if(x.back, [&](const auto& y) { return y.number == image.number; });
}

void device_decoder::make_now(const row_target& row, std::size_t field) {
  are_read_ = true;
  std::optional<open_image> wanted;
  for_each_open([&](group& x, open_image& image) {
    if (image.row != row.dense.data() || image.field != field)
      return false;
    withdraw(x, image);
    wanted = std::move(image);
    return true;
  });
  if (!wanted)
    return;
  (void)refuse(cpu_reason::read);
  wanted->from.maker->make_now(wanted->from, wanted->on_host);
}

void device_decoder::drop(const row_target& row, std::size_t field) noexcept {
  for_each_open([&](group& x, const open_image& image) {
    const bool is_it = image.row == row.dense.data() && image.field == field;
    if (is_it)
      withdraw(x, image);
    return is_it;
  });
}

void device_decoder::drop_all(const row_target& row) noexcept {
  for_each_open([&](group& x, const open_image& image) {
    const bool is_it = image.row == row.dense.data();
    if (is_it)
      withdraw(x, image);
    return is_it;
  });
}

bool device_decoder::end_row(const row_target& row, batch_slot& slot, std::size_t number,
                             const std::shared_ptr<batch_slot>& kept) {
  if (slot.result(number).what != row_result::outcome::good) {
    drop_all(row);
    return false;
  }
  group* of = nullptr;
  for_each_open([&](group& x, const open_image& image) {
    if (image.row != row.dense.data())
      return false;
    if (!of) {
      of = &x;
      x.rows.push_back({&slot, number});
    }
    x.rows.back().fields |= std::uint64_t{1} << image.field;
    x.row_of[image.number] = x.rows.size();
    return true;
  });
  if (!of)
    return false;
  if (kept && (of->kept.empty() || of->kept.back() != kept))
    of->kept.push_back(kept);
  if (of == now_ && now_->open.empty() && now_->images.size() >= enough_images)
    flush();
  return true;
}

// -- groups

void device_decoder::begin_group() {
  while (all_.size() < device_decoding::groups_of_worker) {
    all_.push_back(std::make_unique<group>(*job_));
    free_.push_back(all_.back().get());
  }
  now_ = free_.back();
  free_.pop_back();
}

void device_decoder::clear(group& x) noexcept {
  x.images.clear();
  x.open.clear();
  x.rows.clear();
  x.row_of.clear();
  x.back.clear();
  x.kept.clear();
  x.failure.reset();
  x.is_given = false;
}

void device_decoder::recycle_finished() noexcept {
  if (!finished_)
    return;
  clear(*finished_);
  free_.push_back(std::exchange(finished_, nullptr));
}

bool device_decoder::is_full() noexcept {
  recycle_finished();
  return !all_.empty() && free_.empty();
}

bool device_decoder::is_oldest_done() {
  return is_busy() && (busy_.front()->failure || job_->calls->is_reached(busy_.front()->done));
}

void device_decoder::flush() noexcept {
  if (!now_)
    return;
  recycle_finished();
  auto& x = *std::exchange(now_, nullptr);
  if (x.rows.empty() && x.open.empty()) { // nobody wants any of its images
    clear(x);
    free_.push_back(&x);
    return;
  }
  const timed time{job_->prepared};
  x.is_given = true;
  try {
    give(x);
  } catch (...) {
    x.failure = error_in_flight(errc::device, {.stage = "loader"});
  }
  busy_.push_back(&x);
}

void device_decoder::give(group& x) {
  auto& calls = *job_->calls;
  auto& kernels = job_->kernels;
  const auto sealed = x.images.seal(x.copied.data(), x.scratch.data());
  calls.copy(x.copied.data(), x.staging.data(), x.images.bytes_to_copy(), stream_);
  for (const auto& launch : launches_of(sealed))
    kernels.launch({job_->functions[static_cast<std::size_t>(launch.which)], launch.grid,
                    launch.threads, launch.shared_bytes},
                   std::as_bytes(std::span{&sealed, 1}), stream_);
  kernels.copy_back(x.told.data(), x.scratch.data() + x.images.told_offset(),
                    x.images.size() * sizeof(std::uint32_t), stream_);
  for (const auto& y : x.back)
    kernels.copy_back(y.on_host, y.on_device, y.bytes, stream_);
  calls.record(x.done, stream_);
  job_->groups.add(1);
  job_->bytes.add(x.images.bytes_to_copy());
}

std::span<const device_decoder::waited_row> device_decoder::finish_oldest() noexcept {
  recycle_finished();
  auto& x = *busy_.front();
  busy_.pop_front();
  finished_ = &x;
  try {
    const timed time{job_->waited};
    if (!x.failure)
      job_->calls->wait_here(x.done);
    take_told(x);
  } catch (...) {
    x.failure = error_in_flight(errc::device, {.stage = "loader"});
  }
  for (auto& y : x.rows)
    y.failure = x.failure ? &*x.failure : nullptr;
  return x.rows;
}

void device_decoder::take_told(group& x) {
  for (std::size_t i = 0; i < x.row_of.size(); ++i) {
    if (x.failure || x.row_of[i] == 0)
      continue;
    std::uint32_t told = 0;
    std::memcpy(&told, x.told.data() + i * sizeof told, sizeof told);
    if (told == 0) {
      job_->decoded.add(1);
      continue;
    }
    x.rows[x.row_of[i] - 1].is_bad = true;
    (void)refuse(cpu_reason::damage);
  }
}

} // namespace leat
