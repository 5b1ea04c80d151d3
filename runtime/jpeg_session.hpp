#pragma once

#include "runtime/pixel_rect.hpp"

#include <leat/bad_sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

/// libjpeg-turbo behind calls that return false instead of jumping: one image at a time, from
/// `open` to `close`. After a false, `why` and `text` say what went wrong, and only `open` and
/// `close` may follow.
class jpeg_session {
public:
  /// A range of pixel columns.
  struct columns {
    unsigned begin;
    unsigned count;
  };

  jpeg_session();
  ~jpeg_session();
  jpeg_session(const jpeg_session&) = delete;
  jpeg_session& operator=(const jpeg_session&) = delete;

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
  /// Writes 3 bytes a pixel (4 of CMYK) of the columns that `start` answered.
  bool read_row(std::uint8_t* to);

  /// Gives all memory back.
  void close() noexcept;

  cause why() const noexcept;
  const char* text() const noexcept;

  struct state; // libjpeg's callbacks see it

private:
  std::unique_ptr<state> state_;
};

} // namespace leat
