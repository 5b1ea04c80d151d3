#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/device_memory.hpp"
#include "runtime/rows/ragged_rows.hpp"
#include "runtime/sample/batch_layout.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/field.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace leat {

/// Throws `errc::no_resources`: the machine has no memory for such a batch.
[[noreturn]] void refuse_batch_size(const batch_layout& layout, std::size_t rows);

/// Throws `errc::no_resources` where the machine has less memory than so many batches take, by what
/// is known of their rows; sends a notice, and is true, where they take so much that it shows.
bool check_batches(const batch_layout& layout, std::size_t rows, std::size_t batches);

/// Where the tensors of batches have their memory from.
struct tensor_memory {
  /// Null: pages of the system.
  std::shared_ptr<std::pmr::memory_resource> from = {};
  /// By field, whether its memory comes from there; empty: that of all.
  std::vector<bool> fields = {};
  /// A device that rows may be made on; null: none.
  std::shared_ptr<device_calls> device = {};
  /// By field, whether it has memory there, too.
  std::vector<bool> made_there = {};
};

/// The bytes of one batch of one rank, reused for many: a tensor for each dense field, and the
/// bytes of each row for each ragged one.
class batch_memory {
public:
  /// `rows`: the most rows that a batch of this rank has. Throws `errc::no_resources`.
  batch_memory(std::shared_ptr<const batch_layout> layout, std::size_t rows,
               const tensor_memory& tensors = {});

  const batch_layout& layout() const noexcept { return *layout_; }
  std::size_t rows() const noexcept { return rows_; }

  /// [rows, ...] of a dense field.
  const std::byte* dense(std::size_t field) const noexcept { return dense_[field].data(); }
  /// The same in the device's memory, for rows that are made there; null: none of the field's are.
  const std::byte* on_device(std::size_t field) const noexcept {
    return on_device_.empty() ? nullptr : on_device_[field].data();
  }
  /// All rows of a dense field.
  std::size_t dense_bytes(std::size_t field) const noexcept { return dense_[field].size(); }

  /// All tensors, and what the rows of ragged fields have now. Not while they are written.
  std::size_t bytes() const noexcept;

  /// The rows of another batch.
  void begin_rows() noexcept;
  /// How often they began. For the thread that makes a row.
  std::uint64_t opening() const noexcept { return opening_; }
  /// The memory of one row: an entry for each field.
  struct row_memory {
    std::vector<std::byte*> dense;
    std::vector<ragged_row> ragged;
    /// Empty without a device.
    std::vector<std::byte*> on_device;
    /// The next row may follow this one.
    bool may_be_followed = false;
  };
  /// Points `to` to the row's memory, and returns a target that refers to it. `follows`: see
  /// ragged_rows::target.
  row_target target(std::size_t row, bool follows, row_memory& to);
  /// What a row's field has; on the host. For the thread that made the row.
  std::span<const std::byte> row_of(std::size_t field, std::size_t row) const noexcept {
    if (layout_->fields()[field].ragged)
      return ragged_[field].row(row);
    return {dense_[field].data() + row * row_bytes_[field], row_bytes_[field]};
  }
  /// Zeroes the row.
  void clear(std::size_t row) noexcept;

  /// A field of a closed batch. Any thread.
  field_view field(std::size_t i);

  /// Values of a ragged field and offsets of its rows, in elements; gathered on first use. Any
  /// thread.
  struct gathered {
    std::span<const std::byte> values;
    std::vector<std::uint64_t> offsets;
    /// These are the rows that began last.
    bool is_current = false;
  };
  const gathered& gather(std::size_t field);

private:
  const std::shared_ptr<const batch_layout> layout_;
  const std::size_t rows_;
  std::vector<huge_buffer> dense_;
  /// By field; empty without a device.
  std::vector<device_memory> on_device_;
  /// Bytes of a row, by field: asked for per row.
  std::vector<std::size_t> row_bytes_;
  /// By field; without rows for dense ones.
  std::vector<ragged_rows> ragged_;
  std::uint64_t opening_ = 0;
  mutex gather_mutex_;
  std::vector<gathered> gathered_ LEAT_GUARDED_BY(gather_mutex_);
};

/// Where the fields of one row are, for the writer of the row: one of these for each thread.
class row_places {
public:
  row_target at(batch_memory& memory, std::size_t row) {
    const bool follows =
        row == 0 || (memory_ == &memory && opening_ == memory.opening() && row == next_row_);
    opening_ = memory.opening();
    next_row_ = row + 1;
    const auto target = memory.target(row, follows, fields_);
    memory_ = fields_.may_be_followed ? &memory : nullptr;
    return target;
  }
  /// The same for a row that was made before, with others after it.
  row_target again(batch_memory& memory, std::size_t row) {
    memory_ = nullptr;
    return memory.target(row, false, fields_);
  }

private:
  batch_memory::row_memory fields_;
  /// The memory of the last row, if it followed: see ragged_rows::target.
  const batch_memory* memory_ = nullptr;
  std::uint64_t opening_ = 0;
  std::size_t next_row_ = 0;
};

} // namespace leat
