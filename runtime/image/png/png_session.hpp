#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/bad_sample.hpp>
#include <leat/resize_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

/// Wraps libpng in calls that return false instead of jumping: one image at a time, from `open` to
/// `close`. After a false, `why` and `text` say what went wrong, and only `open` and `close` may
/// follow.
class png_session : not_copied {
public:
  png_session();
  ~png_session();

  /// Reads what comes before the pixels. `file` is borrowed until `close`.
  bool open(std::span<const std::byte> file);
  image_size size() const noexcept;
  /// Writes all pixels, 3 bytes each, and reads on to the file's end chunk. Once for each `open`.
  bool read(std::uint8_t* rgb);

  /// Gives all memory back.
  void close() noexcept;

  /// There was no memory, which says nothing of the file.
  bool lacks_memory() const noexcept;
  cause why() const noexcept;
  const char* text() const noexcept;

  struct state; // libpng's callbacks see it

private:
  std::unique_ptr<state> state_;
};

} // namespace leat
