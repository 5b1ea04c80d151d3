#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_jpegs.hpp"
#include "runtime/device/device_memory.hpp"
#include "runtime/image/device/image_group.hpp"
#include "runtime/image/late_image.hpp"
#include "runtime/rows/device/device_decoding.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

class batch_slot;

/// A row that waits for a device.
struct waiting_row {
  batch_slot* slot = nullptr;
  std::size_t number = 0;
  /// A bit for each field that is made on the device.
  std::uint64_t fields = 0;
  /// The device found an image of it bad.
  bool is_bad = false;
  /// Why its group was not made; null: it was. Borrowed.
  const error* failure = nullptr;
};

/// Images of some rows that a device decodes together, with the memory for that, which is kept for
/// later groups. The device must have done with it when it ends.
class late_group : not_copied {
public:
  /// Throws `errc::no_resources`.
  explicit late_group(const device_decoding& job);
  ~late_group();

  /// An image of a row that is not ended.
  struct open_image {
    /// Tells rows that are open at the same time apart.
    const void* row = nullptr;
    std::size_t field = 0;
    std::size_t number = 0;
    std::byte* on_host = nullptr;
    late_image from = {};
    /// The file, where it does not outlive the row.
    std::vector<std::byte> kept = {};
    std::vector<scan_place> kept_places = {};
  };

  bool is_empty() const noexcept { return rows.empty() && open.empty(); }
  image_group::added add(const group_image& image, open_image as, std::size_t bytes);
  /// Where others write the planes of the image that was added last.
  std::vector<device_plane> planes_of_last(const jpeg_frame& frame) const;
  /// The processor makes the image that was added last.
  void refuse_last(cpu_reason why) noexcept;
  /// Why the last one was not added, or refused.
  cpu_reason why() const noexcept { return why_; }
  /// Somebody else makes the image, or nobody: waits for a device that has it.
  void withdraw(const open_image& x) noexcept;
  /// Gives all of it to the device. What goes wrong is said of its rows.
  void give(device_stream to) noexcept;
  /// Whether finish() would not wait.
  bool is_done() noexcept;
  /// Waits for the device, and notes of the rows what it found.
  void finish() noexcept;
  /// For the next group.
  void clear() noexcept;

  const image_group& images() const noexcept { return images_; }

  std::vector<open_image> open;
  std::vector<waiting_row> rows;
  /// By image: its row, counted from 1; 0: nobody wants it.
  std::vector<std::size_t> row_of;
  /// Keep what rows refer to.
  std::vector<std::shared_ptr<batch_slot>> kept;

private:
  /// Pixels that are copied back.
  struct copied_pixels {
    std::size_t number = 0;
    std::byte* on_host = nullptr;
    const std::byte* on_device = nullptr;
    std::size_t bytes = 0;
  };

  void launch(device_stream to);
  void wait() noexcept;
  /// Notes the exception in flight.
  void fail() noexcept;
  void look_at_images();

  const device_decoding& job_;
  huge_buffer staging_;
  device_memory copied_;
  device_memory scratch_;
  image_group images_;
  /// By image, from the device.
  huge_buffer told_;
  const device_event done_;
  std::vector<copied_pixels> back_;
  cpu_reason why_ = cpu_reason::busy;
  std::optional<error> failure_;
  bool is_given_ = false;
};

} // namespace leat
