#pragma once

#include <cstddef>

namespace leat {

struct late_image;
struct row_target;

/// Makes fields of rows later than their functions run, and elsewhere: on a device. Used by the
/// thread that makes the rows.
class late_fields {
public:
  /// Takes over a dense field of the row, whose bytes are nowhere yet. False: the caller makes it.
  virtual bool take(const row_target& row, std::size_t field, const late_image& from) = 0;
  /// Makes it at once after all, in the host's memory of the row: somebody reads it, or wants to
  /// know whether it can be made. Throws `bad_sample`.
  virtual void make_now(const row_target& row, std::size_t field) = 0;
  /// The row begins anew: nobody wants any of its fields.
  virtual void drop_all(const row_target& row) noexcept = 0;

protected:
  ~late_fields() = default;
};

} // namespace leat
