#pragma once

#include "runtime/sample/field_errors.hpp"
#include "runtime/sample/late_fields.hpp"
#include "runtime/sample/machine_memory.hpp"
#include "runtime/sample/raw_buffer.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/sample.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A field of a sample.
struct sample_field {
  std::string name;
  bool ragged = false;
  dtype type = dtype::u8;
  /// For ragged fields the whole shape; unused for bytes.
  shape dims;
  /// Lies in `owned`, in the batch's row, or in memory that the source lent.
  const std::byte* data = nullptr;
  std::size_t size = 0;
  /// For a JPEG.
  kept_places places;
  /// Made later, in the row's field of the batch that its place stands for; 0: it is made already.
  std::size_t late = 0;
  std::vector<std::byte> owned;

  bool is_bytes() const noexcept { return ragged && type == dtype::u8 && dims.rank() <= 1; }
  void be_bytes() noexcept {
    ragged = true;
    type = dtype::u8;
    dims = {};
  }
};

/// Shape of one element of a ragged field.
inline shape inner_of(const shape& dims) {
  shape result;
  for (auto i = dims.rank(); i > 1; --i)
    result = result.behind(dims[i - 1]);
  return result;
}

inline field_layout layout_of(const sample_field& x) {
  return {x.name, x.ragged, x.type, x.ragged ? inner_of(x.dims) : x.dims};
}

inline bool lies_in(std::span<const std::byte> buffer, const std::byte* at) {
  return std::less_equal<>{}(buffer.data(), at) && std::less<>{}(at, buffer.data() + buffer.size());
}

/// What a sample has.
struct sample::state {
  // Entries from `used` on keep their memory for later samples.
  std::vector<sample_field> fields;
  std::size_t used = 0;
  raw_buffer scratch;
  raw_buffer place_bytes;
  source_access::extent_buffers extents;
  const std::stop_token* stop = nullptr;
  record_blocks* blocks = nullptr;
  /// Bytes of the field that was replaced last.
  std::vector<std::byte> replaced;
  id_writer id;
  const row_target* target = nullptr;
  std::uint64_t bytes_read = 0;
  /// Fields may lie in them.
  std::vector<payload_ptr> kept;
  /// Why a field that was to be made later is bad, and with it the sample, whoever caught that.
  mutable std::exception_ptr spoiled;

  const sample_field* find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < used; ++i)
      if (fields[i].name == name)
        return &fields[i];
    return nullptr;
  }

  const sample_field& get(std::string_view name) const {
    if (const auto* x = find(name)) {
      if (x->late > 0)
        settle(*x);
      return *x;
    }
    miss(name);
  }
  /// Without a look at its bytes.
  const sample_field& get_form(std::string_view name) const {
    if (const auto* x = find(name))
      return *x;
    miss(name);
  }

  /// Somebody wants the bytes of a field that is made later.
  [[gnu::cold]] void settle(const sample_field& x) const {
    const auto number = std::exchange(const_cast<sample_field&>(x).late, 0) - 1;
    try {
      target->late->make_now(*target, number);
    } catch (...) {
      spoiled = std::current_exception();
      throw;
    }
  }
  /// The field goes; whether its sample is a good one is still to be known.
  void drop(sample_field& x) const noexcept {
    if (x.late == 0)
      return;
    try {
      settle(x);
    } catch (...) { // noted
    }
  }

  [[noreturn, gnu::cold]] void miss(std::string_view name) const { // apart: get() is hot
    std::vector<std::string> have;
    for (std::size_t i = 0; i < used; ++i)
      have.push_back(fields[i].name);
    throw bad_sample(cause::missing_field, missing_text(name, have));
  }

  const sample_field& get_tensor(std::string_view name) const {
    const auto& x = get_form(name);
    if (x.is_bytes())
      throw bad_sample(cause::wrong_shape, "field is " + x.name + " bytes, asked for a tensor");
    return x;
  }

  /// The entry for a field that is about to be set.
  sample_field& put(std::string_view name) {
    if (const auto* found = find(name)) {
      auto& x = const_cast<sample_field&>(*found);
      x.places = {};
      drop(x);
      return x;
    }
    if (used == fields.size())
      fields.emplace_back();
    auto& x = fields[used++];
    x.name = name;
    x.data = nullptr;
    x.size = 0;
    x.places = {};
    x.late = 0;
    return x;
  }

  /// Gives a field bytes of its own. If it `replaces` an older one, that one's stay readable until
  /// the next field is replaced: the function that replaces it may still read them.
  std::byte* own(sample_field& x, std::size_t size, bool replaces) {
    if (replaces)
      replaced.swap(x.owned);
    check_sample_bytes(size);
    x.owned.resize(size);
    x.data = x.owned.data();
    x.size = size;
    return x.owned.data();
  }
  /// The row of the batch's ragged field of this name; null if the batch has none of this kind.
  const ragged_row* row_of(std::string_view name, dtype type, const shape& element) const {
    if (!target)
      return nullptr;
    const auto& wanted = target->layout->fields();
    const auto i = target->layout->find(name);
    return i < wanted.size() && wanted[i].ragged && wanted[i].type == type
                   && wanted[i].dims == element
               ? &target->ragged[i]
               : nullptr;
  }

  bool lies_in_batch(const sample_field& x) const {
    return target
           && (std::find(target->dense.begin(), target->dense.end(), x.data) != target->dense.end()
               || std::any_of(target->ragged.begin(), target->ragged.end(), [&](const auto& row) {
                    return row.in && lies_in(row.bytes(), x.data);
                  }));
  }
};

} // namespace leat
