#include "runtime/rows/device/device_decoder.hpp"

#include "runtime/image/image_maker.hpp"
#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace leat {

namespace {

/// A group of so many is given to the device: enough for its threads, and few enough for the next
/// group to be made meanwhile.
constexpr std::size_t enough_images = 64;

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

device_decoder::device_decoder(std::shared_ptr<device_decoding> job, bool keeps_files)
    : job_(std::move(job)), keeps_files_(keeps_files), stream_(job_->calls->make_stream()) {}

device_decoder::~device_decoder() {
  while (is_busy())
    (void)finish_oldest();
  jpegs_ = nullptr; // waits for images of a group that was not given to the device
  job_->calls->end_stream(stream_);
}

// -- while a row is made

bool device_decoder::refuse(cpu_reason x) noexcept {
  job_->on_cpu[static_cast<std::size_t>(x)].add(1);
  return false;
}

bool device_decoder::take(const row_target& row, std::size_t field, const late_image& from) {
  if (is_over_)
    return refuse(*is_over_);
  if (from.why)
    return refuse(*from.why);
  if (field >= 64)
    return refuse(cpu_reason::busy);
  const timed time{job_->prepared};
  recycle_finished();
  if (job_->by == decoded_by::nvjpeg) {
    if (!jpegs_)
      jpegs_ = job_->calls->open_jpegs();
  } else {
    if (!scan_decoder::understands(*from.frame))
      return refuse(cpu_reason::not_baseline);
    if (!find_places(from))
      return refuse(cpu_reason::no_places);
  }
  const auto has_row = [&](const late_group* x) {
    return std::any_of(x->open.begin(), x->open.end(),
                       [&](const auto& y) { return y.row == row.dense.data(); });
  };
  // All images of a row are in one group.
  if (std::any_of(busy_.begin(), busy_.end(), has_row) || (!now_ && is_full()))
    return refuse(cpu_reason::busy);
  if (!now_ && !begin_group())
    return refuse(cpu_reason::memory);
  auto added = add(row, field, from);
  if (added == image_group::added::full) {
    if (free_.empty() || has_row(now_))
      return refuse(cpu_reason::busy);
    flush();
    (void)begin_group(); // one is free
    added = add(row, field, from);
  }
  return added == image_group::added::yes || refuse(now_->why());
}

bool device_decoder::find_places(const late_image& from) {
  return (!from.work_bytes.empty() && read_work_places(from.work_bytes, from.file, places_))
         || as_work_places(*from.frame, from.places, places_);
}

image_group::added device_decoder::add(const row_target& row, std::size_t field,
                                       const late_image& from) {
  late_group::open_image image{
      .row = row.dense.data(), .field = field, .on_host = row.dense[field], .from = from};
  if (keeps_files_) {
    image.kept.assign(from.file.begin(), from.file.end());
    image.from.file = image.kept;
    image.kept_places.assign(from.places.begin(), from.places.end());
    image.from.places = image.kept_places;
  }
  auto whole = jpegs_ ? scaled(*from.frame, jpeg_frame::block) : jpeg_frame{};
  const auto added = now_->add({.file = from.file,
                                .frame = jpegs_ ? &whole : from.frame,
                                .places = places_,
                                .plan = &from.plan,
                                .form = &from.form,
                                .jitter = from.jitter ? &*from.jitter : nullptr,
                                .erased = from.erased ? &*from.erased : nullptr,
                                .pixels = row.on_device[field]},
                               std::move(image), row.layout->fields()[field].row_bytes());
  if (added != image_group::added::yes || !jpegs_
      || jpegs_->decode(from.file, now_->planes_of_last(whole), stream_))
    return added;
  now_->refuse_last(cpu_reason::not_for_nvjpeg);
  return image_group::added::no;
}

/// Removes those for which `each` is true.
template <class Each>
void device_decoder::for_each_open(Each each) {
  const auto among = [&](late_group& x) {
    std::erase_if(x.open, [&](auto& y) { return each(x, y); });
  };
  for (auto* x : busy_)
    among(*x);
  if (now_)
    among(*now_);
}

void device_decoder::make_now(const row_target& row, std::size_t field) {
  is_over_ = cpu_reason::read;
  std::optional<late_group::open_image> wanted;
  for_each_open([&](late_group& x, late_group::open_image& image) {
    if (image.row != row.dense.data() || image.field != field)
      return false;
    x.withdraw(image);
    wanted = std::move(image);
    return true;
  });
  if (!wanted)
    return;
  (void)refuse(cpu_reason::read);
  wanted->from.maker->make_now(wanted->from, wanted->on_host);
}

void device_decoder::drop_all(const row_target& row) noexcept {
  for_each_open([&](late_group& x, const late_group::open_image& image) {
    const bool is_it = image.row == row.dense.data();
    if (is_it)
      x.withdraw(image);
    return is_it;
  });
}

bool device_decoder::end_row(const row_target& row, batch_slot& slot, std::size_t number) {
  if (slot.result(number).what != row_result::outcome::good) {
    drop_all(row);
    return false;
  }
  late_group* of = nullptr;
  for_each_open([&](late_group& x, const late_group::open_image& image) {
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
  if (slot_ && (of->kept.empty() || of->kept.back() != slot_))
    of->kept.push_back(slot_);
  if (of == now_ && now_->open.empty() && now_->images().size() >= enough_images)
    flush();
  return true;
}

// -- groups

bool device_decoder::begin_group() {
  try {
    while (all_.size() < device_decoding::groups_of_worker) {
      all_.push_back(std::make_unique<late_group>(*job_));
      free_.push_back(all_.back().get());
    }
  } catch (const error& problem) {
    if (job_->is_forced || problem.code() != errc::no_resources)
      throw;
    notice("loader: JPEGs are decoded on the processors: " + std::string{problem.what()});
    is_over_ = cpu_reason::memory;
    return false;
  }
  now_ = free_.back();
  free_.pop_back();
  return true;
}

void device_decoder::recycle_finished() noexcept {
  if (!finished_)
    return;
  finished_->clear();
  free_.push_back(std::exchange(finished_, nullptr));
}

bool device_decoder::is_full() noexcept {
  recycle_finished();
  return !all_.empty() && free_.empty();
}

bool device_decoder::is_oldest_done() noexcept {
  return is_busy() && busy_.front()->is_done();
}

void device_decoder::flush() noexcept {
  if (!now_)
    return;
  recycle_finished();
  auto& x = *std::exchange(now_, nullptr);
  if (x.is_empty()) { // nobody wants any of its images
    x.clear();
    free_.push_back(&x);
    return;
  }
  const timed time{job_->prepared};
  x.give(stream_);
  busy_.push_back(&x);
  job_->groups.add(1);
  job_->bytes.add(x.images().bytes_to_copy());
}

std::span<const waiting_row> device_decoder::finish_oldest() noexcept {
  recycle_finished();
  finished_ = busy_.front();
  busy_.pop_front();
  {
    const timed time{job_->waited};
    finished_->finish();
  }
  for (const auto& x : finished_->rows)
    if (x.is_bad)
      (void)refuse(cpu_reason::damage);
    else if (!x.failure)
      job_->decoded.add(static_cast<std::uint64_t>(std::popcount(x.fields)));
  return finished_->rows;
}

} // namespace leat
