#include "runtime/rows/device/late_group.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace leat {

late_group::late_group(const device_decoding& job)
    : job_(job), staging_(job.staging, job.host, huge_buffer::content::any),
      copied_(job.calls, job.staging), scratch_(job.calls, job.scratch),
      images_({staging_.data(), staging_.size()}, job.scratch,
              job.by == decoded_by::nvjpeg ? planes_by::others : planes_by::kernels),
      told_(device_decoding::most_images * sizeof(std::uint32_t), job.host,
            huge_buffer::content::any),
      done_(job.calls->make_event()) {}

late_group::~late_group() {
  job_.calls->end_event(done_);
}

image_group::added late_group::add(const group_image& image, open_image as, std::size_t bytes) {
  if (images_.size() == device_decoding::most_images)
    return image_group::added::full;
  const auto added = images_.add(image);
  if (added != image_group::added::yes) {
    why_ = images_.why();
    return added;
  }
  as.number = images_.size() - 1;
  row_of.push_back(0);
  if (job_.copies_back)
    back_.push_back({as.number, as.on_host, image.pixels, bytes});
  open.push_back(std::move(as));
  return added;
}

std::vector<device_plane> late_group::planes_of_last(const jpeg_frame& frame) const {
  const auto& image = images_.last();
  std::vector<device_plane> planes;
  for (std::size_t c = 0; c < image.num_components; ++c) {
    const auto& x = image.components[c];
    const auto size = frame.coded_size(c);
    planes.push_back({scratch_.data() + x.first_sample, std::size_t{x.columns} * x.each, size.width,
                      size.height});
  }
  return planes;
}

void late_group::refuse_last(cpu_reason why) noexcept {
  why_ = why;
  withdraw(open.back());
  open.pop_back();
}

void late_group::withdraw(const open_image& x) noexcept {
  if (is_given_)
    return wait(); // the device writes there, where others may write next
  images_.withdraw(x.number);
  std::erase_if(back_, [&](const auto& y) { return y.number == x.number; });
}

void late_group::give(device_stream to) noexcept {
  is_given_ = true;
  try {
    launch(to);
    job_.calls->record(done_, to);
  } catch (...) {
    fail();
  }
}

void late_group::launch(device_stream to) {
  auto& kernels = job_.kernels;
  const auto sealed = images_.seal(copied_.data(), scratch_.data());
  job_.calls->copy(copied_.data(), staging_.data(), images_.bytes_to_copy(), to);
  for (const auto& x : launches_of(sealed))
    kernels.launch(
        {job_.functions[static_cast<std::size_t>(x.which)], x.grid, x.threads, x.shared_bytes},
        std::as_bytes(std::span{&sealed, 1}), to);
  kernels.copy_back(told_.data(), scratch_.data() + images_.told_offset(),
                    images_.size() * sizeof(std::uint32_t), to);
  for (const auto& x : back_)
    kernels.copy_back(x.on_host, x.on_device, x.bytes, to);
}

bool late_group::is_done() noexcept {
  try {
    return job_.calls->is_reached(done_);
  } catch (...) { // finish() says why
    return true;
  }
}

void late_group::fail() noexcept {
  if (!failure_)
    failure_ = error_in_flight(errc::device, {.stage = "loader"});
}

void late_group::wait() noexcept {
  try {
    if (!failure_)
      return job_.calls->wait_here(done_);
  } catch (...) {
    fail();
  }
  try {
    job_.calls->wait_for_all(); // what was given so far is still done, and has no mark
  } catch (...) {               // a device that is lost does nothing any more
  }
}

void late_group::finish() noexcept {
  wait();
  for (auto& x : rows)
    x.failure = failure_ ? &*failure_ : nullptr;
  if (!failure_)
    look_at_images();
}

void late_group::look_at_images() {
  for (std::size_t i = 0; i < row_of.size(); ++i) {
    if (row_of[i] == 0)
      continue;
    std::uint32_t told = 0;
    std::memcpy(&told, told_.data() + i * sizeof told, sizeof told);
    if (told != 0)
      rows[row_of[i] - 1].is_bad = true;
  }
}

void late_group::clear() noexcept {
  images_.clear();
  open.clear();
  rows.clear();
  row_of.clear();
  kept.clear();
  back_.clear();
  failure_.reset();
  is_given_ = false;
}

} // namespace leat
