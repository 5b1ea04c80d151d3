#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_jpegs.hpp"
#include "runtime/rows/device/device_decoding.hpp"
#include "runtime/rows/device/late_group.hpp"
#include "runtime/sample/late_fields.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace leat {

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
  void drop_all(const row_target& row) noexcept override;

  /// Rows that end from now on keep this slot; null: whoever runs them does.
  void keep(std::shared_ptr<batch_slot> slot) noexcept { slot_ = std::move(slot); }
  /// The row was run; all that was taken over for it is dropped unless it is good. True: it waits
  /// for the device.
  bool end_row(const row_target& row, batch_slot& slot, std::size_t number);

  /// Rows wait.
  bool has_rows() const noexcept { return is_busy() || (now_ && !now_->rows.empty()); }
  /// The device has groups.
  bool is_busy() const noexcept { return !busy_.empty(); }
  /// The next group could not be given to the device: finish_oldest() makes room.
  bool is_full() noexcept;
  bool is_oldest_done() noexcept;
  /// Gives the device what there is.
  void flush() noexcept;
  /// Waits for the oldest group that the device has. Its rows: borrowed until the next call of any
  /// function.
  std::span<const waiting_row> finish_oldest() noexcept;

private:
  bool refuse(cpu_reason x) noexcept;
  /// False: there is no memory for one.
  bool begin_group();
  void recycle_finished() noexcept;
  bool find_places(const late_image& from);
  image_group::added add(const row_target& row, std::size_t field, const late_image& from);
  template <class Each>
  void for_each_open(Each each);

  const std::shared_ptr<device_decoding> job_;
  const bool keeps_files_;
  const device_stream stream_;
  std::vector<std::unique_ptr<late_group>> all_;
  /// The one that is filled; null: none yet.
  late_group* now_ = nullptr;
  std::vector<late_group*> free_;
  /// The oldest first.
  std::deque<late_group*> busy_;
  /// Its rows were handed out.
  late_group* finished_ = nullptr;
  std::shared_ptr<batch_slot> slot_;
  std::vector<work_place> places_;
  /// By nvJPEG, once there was an image; null: leat's kernels decode.
  std::unique_ptr<device_jpegs> jpegs_;
  /// Why images are made at once from now on: somebody reads pixels, or there is no memory.
  std::optional<cpu_reason> is_over_;
};

} // namespace leat
