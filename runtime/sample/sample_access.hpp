#pragma once

#include "runtime/sample/batch_layout.hpp"
#include "runtime/sample/id_writer.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/sample/ragged_row.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

class late_fields;
class record_blocks;

/// Where one row of a batch lies: for each field of the layout, its tensor's first byte, or where
/// its bytes go.
struct row_target {
  const batch_layout* layout = nullptr;
  /// First byte of the row in each dense field; null for ragged fields.
  std::span<std::byte* const> dense;
  /// The row in each ragged field; nowhere for dense fields.
  std::span<const ragged_row> ragged;
  /// First byte of the row in each field that may be made on a device; null for others. Empty:
  /// there are none.
  std::span<std::byte* const> on_device = {};
  /// Makes fields later, where it is possible; null: nobody does.
  late_fields* late = nullptr;
};

/// What a worker may do with a sample, but a user may not; what leat's own sources may, see
/// source_access.
class sample_access {
public:
  /// Empties the sample for the next row. Without a target all fields live in the sample.
  static void reset(sample& x, const row_target* target);

  /// Sets how to write the id of the item that the sample is made from.
  template <class Append>
  static void identify(sample& x, const Append& append) noexcept {
    id_of(x).set(append);
  }

  /// Appends the id of the item that the sample is made from; nothing before `identify`.
  static void append_id(const sample& x, std::string& to);

  /// Adds all fields of `from` to `into` without a copy: `from` must not change before the row is
  /// done. Throws `bad_sample` (wrong_shape) if `into` has one of the names.
  static void lend(const sample& from, sample& into);

  /// The content of one field.
  struct field_view {
    bool ragged = false;
    dtype type = dtype::u8;
    /// The shape of all of it, also if it is ragged; undefined for bytes.
    shape dims = {};
    std::span<const std::byte> bytes = {};
  };
  /// Throws `bad_sample` (missing_field).
  static field_view view(const sample& x, std::string_view name);
  /// Adds such a field without a copy.
  static void lend(std::string_view name, const field_view& from, sample& into);

  /// What its thread reads the sample with, up to the next `reset`, which removes both; they must
  /// live until then. Waits for bytes end once `stop` is requested; small records may be read with
  /// the blocks, if there are any.
  static void read_with(sample& x, const std::stop_token& stop,
                        record_blocks* blocks = nullptr) noexcept;
  static const std::stop_token& stop_of(const sample& x) noexcept;

  /// Copies all bytes that lie elsewhere, so that the sample can outlive them.
  static void own(sample& x);

  /// Each gets all that the other had.
  static void swap(sample& x, sample& y) noexcept { x.state_.swap(y.state_); }

  /// Bytes of all its fields together.
  static std::size_t bytes_of_fields(const sample& x) noexcept;

  /// Bytes of its memory that grow with what it has held.
  static std::size_t memory(const sample& x) noexcept;

  /// Makes a tensor ragged along its outermost dimension; a ragged field stays as it is. Throws
  /// `bad_sample` (missing_field; wrong_shape: rank 0, or elements without bytes).
  static void let_vary(sample& x, std::string_view name);

  /// Keeps these fields, in this order. Throws `bad_sample` (missing_field).
  static void keep(sample& x, const std::vector<std::string>& names);

  /// Gives a field another name. Throws `bad_sample` (missing_field; wrong_shape: name taken).
  static void rename(sample& x, std::string_view from, std::string_view to);

  /// Moves what the layout needs into the target. Throws `bad_sample` (missing_field, wrong_shape).
  static void deliver(sample& x);

  /// The fields that the sample has now, as a layout.
  static std::vector<field_layout> fields(const sample& x);

  /// The layout of one of them. Throws `bad_sample` (missing_field).
  static field_layout layout_of(const sample& x, std::string_view name);

  /// Takes the count of bytes read since the last call.
  static std::uint64_t take_bytes_read(sample& x);

private:
  static id_writer& id_of(sample& x) noexcept;
};

} // namespace leat
