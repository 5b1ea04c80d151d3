#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"

#include <leat/bad_sample.hpp>
#include <leat/resize_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

/// Wraps libjpeg-turbo in calls that return false instead of jumping: one image at a time, from
/// `open` to `close`. After a false, `why` and `text` say what went wrong, and only `open` and
/// `close` may follow.
class jpeg_session : not_copied {
public:
  /// A range of columns: of pixels, or of MCUs.
  struct columns {
    unsigned begin;
    unsigned count;
  };

  jpeg_session();
  ~jpeg_session();

  /// Reads the headers, up to the first scan. `file` is borrowed until `close`.
  bool open(std::span<const std::byte> file);
  image_size size() const noexcept;
  bool is_cmyk() const noexcept;
  /// What libjpeg has not looked at yet.
  std::span<const std::byte> unread() const noexcept;

  /// Begins to decode some columns, which it widens as the format demands. Rows above `first_row`
  /// are skipped where that leaves the others as they are.
  bool start(columns& range, unsigned first_row);
  /// The row that is read next.
  unsigned next_row() const noexcept;
  /// Writes 3 bytes per pixel (4 for CMYK) of the columns that `start` returned.
  bool read_row(std::uint8_t* to);

  /// What the headers say. Borrows from the session, until `close`.
  jpeg_frame frame() const noexcept;

  /// Begins to decode planes instead of pixels: samples as they are stored, each component at its
  /// own size, for some columns of MCUs, which it may widen. With `eighths` below 8 there are fewer
  /// samples: those of the frame `scaled` by it.
  bool start_planes(columns& mcus, std::size_t eighths);
  /// Rows of pixels that one call decodes: those of an MCU row, or of several.
  std::size_t rows_at_once() const noexcept;
  /// Passes over the next ones.
  bool skip_mcu_row();
  /// Decodes them: of each component as many rows as stand for them, as wide as the columns; `rows`
  /// points at each.
  bool read_mcu_row(std::span<std::uint8_t** const> rows);

  /// Forgets the image.
  void close() noexcept;

  /// There was no memory, which says nothing of the file.
  bool lacks_memory() const noexcept;
  cause why() const noexcept;
  const char* text() const noexcept;

  struct state; // libjpeg's callbacks see it

private:
  std::unique_ptr<state> state_;
};

} // namespace leat
