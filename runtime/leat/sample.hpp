#pragma once

#include <leat/export.hpp>
#include <leat/rng.hpp>
#include <leat/tensor.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace leat {

/// One training example on its way through a worker: named fields.
///
/// A field is a tensor, dense in a batch: every sample has the same element type and shape. Or it
/// is ragged, with values and offsets in a batch: its outermost dimension differs from sample to
/// sample (tokens, a waveform, boxes), while type and shape of its elements are the same in every
/// sample; bytes are ragged u8. How a field was set decides which one it is. Everything that a
/// sample hands out is borrowed until its row is done, or until the field is set again. Used by one
/// thread at a time. Large because fields have several ways to be set and read.
class LEAT_API sample {
public:
  sample();
  ~sample();
  sample(const sample&) = delete;
  sample& operator=(const sample&) = delete;

  /// Id of the record, as logs show it.
  std::string id() const;

  bool has(std::string_view name) const noexcept;
  /// Names in the order in which they were set.
  std::vector<std::string> fields() const;
  /// Whether a field is bytes. Throws `bad_sample` (missing_field).
  bool is_bytes(std::string_view name) const;
  /// Whether its length may differ in every sample, as that of bytes. Throws `bad_sample`
  /// (missing_field).
  bool is_ragged(std::string_view name) const;
  /// Element type and extents of a tensor, or of a ragged field that is not bytes. Throw
  /// `bad_sample` (missing_field, wrong_shape).
  dtype type_of(std::string_view name) const;
  shape shape_of(std::string_view name) const;

  /// The bytes of a field, tensor or not. Throws `bad_sample` (missing_field).
  std::span<const std::byte> bytes(std::string_view name) const;
  /// The bytes of a field as text.
  std::string_view text(std::string_view name) const;
  /// A tensor of rank 0. Throws `bad_sample` (missing_field, wrong_shape).
  template <class T>
  T get(std::string_view name) const {
    if constexpr (std::is_same_v<T, bool>) {
      return get<std::uint8_t>(name) != 0;
    } else {
      T value;
      std::memcpy(&value, tensor(name, dtype_of<T>(), 0), sizeof value);
      return value;
    }
  }
  /// A tensor of rank N, ragged or not. Throws `bad_sample` (missing_field, wrong_shape).
  template <class T, std::size_t N>
  tensor_view<const T, N> view(std::string_view name) const {
    auto* data = reinterpret_cast<const T*>(tensor(name, dtype_of<T>(), N));
    std::array<std::size_t, N> extents{};
    auto dims = shape_of(name);
    for (std::size_t i = 0; i < N; ++i)
      extents[i] = dims[i];
    return {data, extents};
  }

  /// Sets a tensor of rank 0; true and false are u8, 1 and 0.
  template <class T>
  requires std::is_arithmetic_v<T>
  void set(std::string_view name, T value) {
    if constexpr (std::is_same_v<T, bool>)
      set(name, static_cast<std::uint8_t>(value));
    else
      std::memcpy(make_tensor(name, dtype_of<T>(), shape{}), &value, sizeof value);
  }
  /// Sets bytes; they are copied.
  void set(std::string_view name, std::string_view text);
  void set(std::string_view name, std::span<const std::byte> bytes);
  /// Sets a tensor; the elements are copied. Throws `bad_sample` (wrong_shape) if sizes differ.
  template <class T>
  void set(std::string_view name, std::span<const T> values, const shape& dims) {
    check_elements(name, values.size(), dims);
    std::copy(values.begin(), values.end(), make<T>(name, dims).begin());
  }
  /// Sets a field from a std::vector, a std::array, or anything else whose elements are contiguous.
  template <class Values>
  requires requires(const Values& x) { std::span{x.data(), x.size()}; }
  void set(std::string_view name, const Values& values, const shape& dims) {
    using element = std::remove_pointer_t<decltype(values.data())>;
    set(name, std::span<const element>{values.data(), values.size()}, dims);
  }

  /// Makes a tensor and returns its elements, all of which must be written. If the batch has this
  /// field, they lie in the batch already and are not copied again.
  template <class T>
  std::span<T> make(std::string_view name, const shape& dims) {
    return {reinterpret_cast<T*>(make_tensor(name, dtype_of<T>(), dims)), dims.elements()};
  }
  std::byte* make_tensor(std::string_view name, dtype type, const shape& dims);

  /// Sets a ragged field: as many elements of the shape `element` as `values` has; they are copied.
  /// Throws `bad_sample` (wrong_shape) if `values` ends with a part of one, or elements have no
  /// bytes.
  template <class T>
  void set_ragged(std::string_view name, std::span<const T> values, const shape& element = {}) {
    check_parts(name, values.size(), element);
    std::copy(values.begin(), values.end(),
              make_ragged<T>(name, values.size() / element.elements(), element).begin());
  }
  template <class Values>
  requires requires(const Values& x) { std::span{x.data(), x.size()}; }
  void set_ragged(std::string_view name, const Values& values, const shape& element = {}) {
    using type = std::remove_cv_t<std::remove_pointer_t<decltype(values.data())>>;
    set_ragged(name, std::span<const type>{values.data(), values.size()}, element);
  }
  /// Makes a ragged field of `length` elements and returns its numbers, all of which must be
  /// written.
  template <class T>
  std::span<T> make_ragged(std::string_view name, std::size_t length, const shape& element = {}) {
    return {reinterpret_cast<T*>(make_ragged(name, dtype_of<T>(), length, element)),
            length * element.elements()};
  }
  std::byte* make_ragged(std::string_view name, dtype type, std::size_t length,
                         const shape& element);

  /// Makes bytes of the given size, which must be written.
  std::span<std::byte> make_bytes(std::string_view name, std::size_t size);

  /// Removes a field; does nothing if there is none.
  void erase(std::string_view name) noexcept;

  // For sources:

  /// A buffer that lives as long as the record's fields do; its content is undefined. A second call
  /// invalidates the bytes of the first.
  std::span<std::byte> scratch(std::size_t size);
  /// Sets bytes without a copy: `bytes` must outlive the row (a part of `scratch`, a mapped file).
  void borrow(std::string_view name, std::span<const std::byte> bytes);
  /// Adds to the loader's count of bytes read.
  void count_read(std::uint64_t bytes) noexcept;

  /// True once the loader is being destroyed: for long functions that have no context.
  bool cancelled() const noexcept;

private:
  friend class sample_access;
  friend class source_access;
  struct state;

  const std::byte* tensor(std::string_view name, dtype type, std::size_t rank) const;
  static void check_elements(std::string_view name, std::size_t got, const shape& dims);
  static void check_parts(std::string_view name, std::size_t got, const shape& element);

  std::unique_ptr<state> state_;
};

struct worker_record;

/// What a user function may know about its row.
class LEAT_API context {
public:
  /// Random numbers of this sample in this stage.
  leat::rng& rng() noexcept { return rng_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// Number of the row in the epoch. Throws `errc::invalid_argument` in a map whose samples a later
  /// operator looks at (a filter, say): at that point no row is known yet, and a sample that is
  /// made twice must be the same both times. `enumerate` gives such samples numbers.
  std::uint64_t position() const {
    if (!has_row_)
      refuse_position();
    return position_;
  }
  /// False in such a map.
  bool has_row() const noexcept { return has_row_; }
  /// Lane of the sample, and the number of lanes.
  std::uint64_t lane() const noexcept { return position_ % lanes_; }
  std::uint64_t lanes() const noexcept { return lanes_; }
  /// True once the loader is being destroyed: a long function should return or throw.
  bool cancelled() const noexcept {
    return cancelled_ && cancelled_->load(std::memory_order_relaxed);
  }

  /// For functions that make several samples one after the other, or wait for their turn: this one
  /// is next, so that it is named if the function hangs from here on (`stuck_after`).
  void begins() const noexcept;

  context(leat::rng rng, std::uint64_t epoch, std::uint64_t position, std::uint64_t lanes,
          const std::atomic<bool>* cancelled, bool has_row = true, worker_record* record = nullptr)
      : rng_(rng), epoch_(epoch), position_(position), lanes_(lanes), cancelled_(cancelled),
        record_(record), has_row_(has_row) {}

private:
  [[noreturn]] static void refuse_position();

  leat::rng rng_;
  std::uint64_t epoch_;
  std::uint64_t position_;
  std::uint64_t lanes_;
  const std::atomic<bool>* cancelled_;
  /// What the thread that calls the function is doing.
  worker_record* record_;
  bool has_row_;
};

// Fields of a sample as bytes, for a journal or another process on the same machine.

/// Number of bytes that `write_fields` writes. Throws `bad_sample` (missing_field).
LEAT_API std::size_t num_field_bytes(const sample& x, std::span<const std::string> names);

/// Writes name, kind, shape and bytes of these fields, in this order, to `to`, which has as many
/// bytes as that. Throws `bad_sample` (missing_field).
LEAT_API void write_fields(const sample& x, std::span<const std::string> names,
                           std::span<std::byte> to);

/// All fields, in their order.
LEAT_API std::string bytes_of(const sample& x);

/// Whether fields of bytes lie where they were read from, which must then outlive the row.
enum class read_bytes : std::uint8_t { borrowed, copied };

/// Sets the fields that were written. Throws `bad_sample` (corrupt) for anything that
/// `write_fields` would not write.
LEAT_API void set_fields(sample& into, std::span<const std::byte> bytes,
                         read_bytes how = read_bytes::borrowed);

} // namespace leat
