#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/group_image.hpp"
#include "runtime/image/device/group_room.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// Images that a device decodes together, as its kernels read them. Their pixels are those of
/// image_reader, but for images that the device tells of: those the processor judges, and makes.
/// Keeps its buffers; used by one thread at a time.
class image_group : not_copied {
public:
  /// `staging`: memory of the host, pinned where it can be, that is copied to the device at once.
  /// `scratch`: bytes of the device's memory that kernels use between them. Both begin at multiples
  /// of `group_alignment`, here and there.
  image_group(std::span<std::byte> staging, std::size_t scratch, planes_by by = planes_by::kernels);

  /// Forgets all images.
  void clear();

  /// `full`: there is no room left for this one, but there will be in the next group.
  enum class added : std::uint8_t { yes, full, no };
  /// Its number is size() - 1. Copies what is needed of the file to `staging`. Where the answer is
  /// no, `why` tells.
  added add(const group_image& x);
  cpu_reason why() const noexcept { return why_; }

  /// Has nothing written for an image: the processor makes it after all.
  void withdraw(std::size_t number);

  /// The image that was added last. The planes of its components begin at `first_sample` in
  /// `scratch`, where others may write them before the kernels run.
  const device_image& last() const noexcept { return images_.back(); }

  /// Images that were added, those that were withdrawn among them.
  std::size_t size() const noexcept { return images_.size(); }

  /// Ends a group that is not empty: what its kernels are launched with, once the first
  /// `bytes_to_copy` bytes of `staging` lie at `device_staging`.
  device_group seal(const std::byte* device_staging, std::byte* device_scratch);
  std::size_t bytes_to_copy() const noexcept { return used_.copied().end; }
  /// Where in `scratch` there is a number of 32 bits for each image: not 0 if it was told.
  std::size_t told_offset() const noexcept { return used_.made().told; }

private:
  /// Bytes of a scan that are copied, and where to.
  struct segment {
    std::size_t from;
    std::size_t to;
    std::size_t at;
  };

  bool plan_stretches(const group_image& from, const device_image& image, group_room& takes);
  bool plan_row(const group_image& from, const device_image& image, std::size_t row,
                std::size_t begin, std::size_t end, group_room& takes);
  bool fits(const group_room& x) const noexcept;
  void add_tiles(const device_image& image);

  std::span<std::byte> staging_;
  std::size_t scratch_;
  planes_by by_;
  cpu_reason why_ = cpu_reason::no_places;
  group_room used_;
  std::vector<device_image> images_;
  std::vector<device_stretch> stretches_;
  struct {
    std::vector<device_tile> axis, block, row, pixel, gray, colour;
  } tiles_;
  std::vector<segment> segments_;
};

} // namespace leat
