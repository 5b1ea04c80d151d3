#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_memory.hpp"
#include "runtime/image/device/image_group.hpp"
#include "runtime/image/late_image.hpp"
#include "runtime/rows/device_decoding.hpp"
#include "runtime/sample/late_fields.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace leat {

class batch_slot;

/// Decodes the images of a worker's rows on a device, in groups. A group is given to the device
/// once it is large, or once nothing else is to do, and meanwhile the next one is made. Rows wait
/// for their group; an image that the device finds bad is for the processor to judge. Used by one
/// thread.
class device_decoder final : public late_fields, not_copied {
public:
  /// `keeps_files`: what sources lend to a sample is gone before its last functions run.
  device_decoder(std::shared_ptr<device_decoding> job, bool keeps_files);
  /// Waits for the device.
  ~device_decoder();

  bool take(const row_target& row, std::size_t field, const late_image& from) override;
  void make_now(const row_target& row, std::size_t field) override;
  void drop(const row_target& row, std::size_t field) noexcept override;
  void drop_all(const row_target& row) noexcept override;

  /// The row was run; all that was taken over for it is dropped unless it is good. True: it waits
  /// for the device, and keeps `slot` until then.
  bool end_row(const row_target& row, batch_slot& slot, std::size_t number,
               const std::shared_ptr<batch_slot>& kept);

  /// A row that waited.
  struct waited_row {
    batch_slot* slot = nullptr;
    std::size_t number = 0;
    /// A bit for each field that was made on the device.
    std::uint64_t fields = 0;
    /// The device found an image of it bad.
    bool is_bad = false;
    /// Why its group was not made; null: it was. Borrowed.
    const error* failure = nullptr;
  };

  /// Rows wait.
  bool has_rows() const noexcept { return is_busy() || (now_ && !now_->rows.empty()); }
  /// The device has groups.
  bool is_busy() const noexcept { return !busy_.empty(); }
  /// The next group could not be given to the device: finish_oldest() makes room.
  bool is_full() noexcept;
  bool is_oldest_done();
  /// Gives the device what there is.
  void flush() noexcept;
  /// Waits for the oldest group that the device has. Its rows: borrowed until the next call of any
  /// function.
  std::span<const waited_row> finish_oldest() noexcept;

private:
  /// An image of a row that is not ended.
  struct open_image {
    /// Tells rows that are open at the same time apart.
    const void* row = nullptr;
    std::size_t field = 0;
    std::size_t number = 0;
    std::byte* on_host = nullptr;
    late_image from = {};
    std::vector<std::byte> kept = {};
  };
  /// What is copied back.
  struct pixels {
    std::size_t number = 0;
    std::byte* on_host = nullptr;
    const std::byte* on_device = nullptr;
    std::size_t bytes = 0;
  };
  struct group {
    explicit group(const device_decoding& job);

    huge_buffer staging;
    device_memory copied;
    device_memory scratch;
    image_group images;
    std::vector<open_image> open = {};
    std::vector<waited_row> rows = {};
    /// By image: its row, counted from 1; 0: nobody wants it.
    std::vector<std::size_t> row_of = {};
    std::vector<pixels> back = {};
    std::vector<std::shared_ptr<batch_slot>> kept = {};
    std::optional<error> failure = {};
    bool is_given = false;
    device_event done;
    /// By image, from the device.
    huge_buffer told;
  };

  bool refuse(cpu_reason x) noexcept;
  void begin_group();
  void clear(group& x) noexcept;
  void recycle_finished() noexcept;
  bool find_places(const late_image& from);
  image_group::added add(const row_target& row, std::size_t field, const late_image& from);
  void give(group& x);
  void take_told(group& x);
  template <class Each>
  void for_each_open(Each each);
  /// No longer to be made there.
  static void withdraw(group& x, const open_image& image) noexcept;

  const std::shared_ptr<device_decoding> job_;
  const bool keeps_files_;
  const device_stream stream_;
  std::vector<std::unique_ptr<group>> all_;
  /// The one that is filled; null: none yet.
  group* now_ = nullptr;
  std::vector<group*> free_;
  /// The oldest first.
  std::deque<group*> busy_;
  /// Its rows were handed out.
  group* finished_ = nullptr;
  std::vector<work_place> places_;
  /// Somebody reads pixels: images are made at once from now on.
  bool are_read_ = false;
};

} // namespace leat
