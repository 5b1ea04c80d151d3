#pragma once

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/field.hpp>
#include <leat/hash128.hpp>
#include <leat/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

class batch_slot;
class device_slot;
struct job_progress;
class lease_desk;
class loader_job;

/// Bytes of any length, one value per row: row i is values[offsets[i] .. offsets[i + 1]).
struct ragged_view {
  std::span<const std::byte> values;
  /// rows + 1 entries, the first is 0. Invalid rows have no bytes.
  std::span<const std::uint64_t> offsets;

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::span<const std::byte> operator[](std::size_t row) const noexcept {
    return values.subspan(offsets[row], offsets[row + 1] - offsets[row]);
  }
  std::string_view text(std::size_t row) const noexcept {
    auto x = (*this)[row];
    return {reinterpret_cast<const char*>(x.data()), x.size()};
  }
};

/// A field of a batch in the memory of its loader's device.
struct device_field {
  /// `data` is an address there, and `where` names the device; `offsets` are the host's.
  field_view values;
  /// Of a ragged field the same offsets, [rows + 1], on the device; else null.
  const std::uint64_t* offsets = nullptr;
};

/// This rank's part of one global batch: rows in the order of their positions. Everything that it
/// hands out is borrowed until its lease ends. Reading is safe from several threads. It lives only
/// in its lease: a copy would read memory that by then belongs to another batch. Large because each
/// member reads one thing of a batch.
class LEAT_API batch {
public:
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  /// Rows, also invalid ones: ceil(G / world_size) in every batch.
  std::size_t size() const noexcept;
  /// Rows that carry a sample.
  std::size_t valid_rows() const noexcept;
  /// 1 for each row that carries a sample, else 0. Tensors of invalid rows are all zero.
  std::span<const std::uint8_t> valid() const noexcept;

  /// A tensor field: [size(), ...] of rank N; T may be `f16` and `bf16`, too. Throws
  /// `errc::wrong_field` (name, type or rank).
  template <class T, std::size_t N>
  tensor_view<const T, N> view(std::string_view field) const {
    return typed<const T, N>(checked(field, dtype_of<T>(), N, false));
  }
  /// The tensor to write to, for a trainer that works in place.
  template <class T, std::size_t N>
  tensor_view<T, N> mutable_view(std::string_view field) {
    return typed<T, N>(checked(field, dtype_of<T>(), N, false));
  }
  /// A ragged field whose elements have rank N - 1, N the outermost dimension included: tokens are
  /// ragged<std::int32_t, 1>, boxes ragged<float, 2>. Bytes are ragged<std::uint8_t, 1>, too.
  /// Throws `errc::wrong_field` (name, type or rank; or it is dense).
  template <class T, std::size_t N>
  ragged_tensor_view<const T, N> ragged(std::string_view field) const {
    const auto x = checked(field, dtype_of<T>(), N, true);
    return {typed<const T, N>(x), x.offsets};
  }
  /// A bytes field. Throws `errc::wrong_field`.
  ragged_view ragged(std::string_view field) const;
  /// A field of any kind, type and rank. Throws `errc::wrong_field` (name).
  field_view field(std::string_view name) const;
  /// The field's memory, to write to, and for functions that do not take a pointer to const.
  std::byte* mutable_data(std::string_view name) {
    return const_cast<std::byte*>(field(name).data);
  }
  /// Names of all fields, sorted.
  std::vector<std::string> fields() const;
  /// A field on the loader's device (loader_options::device), for work in streams that
  /// lease::on_device() had wait for it. Throws `errc::wrong_field` (name, or not on a device).
  leat::device_field device_field(std::string_view name) const;
  /// Whether there is such a field.
  bool is_on_device(std::string_view name) const noexcept;

  std::uint64_t epoch() const noexcept;
  /// Number of the batch in its epoch.
  std::uint64_t step() const noexcept;
  /// Number of the batch since the job began; continues across resumes.
  std::uint64_t global_step() const noexcept;
  /// No further batch of this epoch follows.
  bool end_of_epoch() const noexcept;
  /// Those of the batch's loader.
  std::uint64_t rank() const noexcept;
  std::uint64_t world_size() const noexcept;

  /// Position of each valid row in the epoch, rising.
  std::vector<std::uint64_t> positions() const;
  /// Id of each valid row's sample, as delivered.
  std::vector<std::string> ids() const;
  /// Sum over the valid rows (docs/digest.md). Ranks' digests add up to the global batch's.
  hash128 digest() const noexcept;
  /// Hash of each valid row's fields. Empty unless `loader_options::hash_pixels`.
  std::vector<hash128> content_hashes() const;
  /// Rows whose sample was bad, under the policies substitute and mask.
  const std::vector<bad_row>& bad() const noexcept;

  /// "Resume after this batch", for your own checkpoint file: this rank's part. About 300 bytes for
  /// an indexed order; otherwise a few tens of bytes per lane, and what buffers and packs hold: a
  /// reference to each sample, or the sample if it comes from a source that exists once. Any
  /// thread, any time while the lease is held, any number of times.
  std::string snapshot() const;

private:
  friend class lease;
  friend class loader;
  friend class loader_job;
  friend class run_log;
  friend class shared_seat;

  batch() = default;
  void swap(batch& other) noexcept;

  /// Throws `errc::invalid_argument` for the batch of a loader without a device.
  device_slot& on_device(const char* call) const;
  /// Throws `errc::wrong_field` if the field is not as asked for.
  /// Throws `errc::wrong_field` for a field that was decoded on a device.
  field_view on_host(std::size_t field) const;
  field_view checked(std::string_view name, dtype type, std::size_t rank, bool ragged) const;

  template <class T, std::size_t N>
  static tensor_view<T, N> typed(const field_view& x) noexcept {
    std::array<std::size_t, N> extents{};
    for (std::size_t d = 0; d < N; ++d)
      extents[d] = static_cast<std::size_t>(x.shape[d]);
    return {reinterpret_cast<T*>(const_cast<std::byte*>(x.data)), extents};
  }

  std::shared_ptr<lease_desk> desk_;
  std::shared_ptr<batch_slot> slot_;
  /// Where the job stands after this batch.
  std::shared_ptr<const job_progress> after_;
};

/// The right to use a batch. Move-only; any thread may drop it, also after the loader is gone.
/// Dropping it gives the batch's memory back to the loader for a later batch.
class LEAT_API lease {
public:
  lease() = default;
  lease(lease&& other) noexcept;
  lease& operator=(lease&& other) noexcept;
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  ~lease();

  /// False after the last batch of the job.
  explicit operator bool() const noexcept { return batch_.slot_ != nullptr; }
  batch* operator->() noexcept { return &batch_; }
  const batch* operator->() const noexcept { return &batch_; }
  batch& operator*() noexcept { return batch_; }
  const batch& operator*() const noexcept { return batch_; }

  /// For a loader with a device: has a stream of the device wait until the batch is there, and
  /// counts it as one in which the batch is used. The host does not wait. The batch's memory on the
  /// device is not written again before all that such streams were given until the lease ends is
  /// done; they must exist until then. `stream` is a CUstream, which is CUDA's cudaStream_t; null:
  /// the default stream. Throws `errc::invalid_argument` for a loader without a device,
  /// `errc::device` for a stream that its driver refuses. Any thread.
  void on_device(void* stream);
  /// Counts a further stream as one in which the batch is used: the caller has it wait for one that
  /// was given to on_device(). Throws as that does.
  void used_on(void* stream);
  /// For users that cannot name their streams: waits here until the batch is on the device, which
  /// finishes all its work before the batch's memory there is written again.
  void on_device_for_all();

  /// Ends the lease early.
  void reset() noexcept;

private:
  friend class loader;
  friend class loader_job;
  friend class shared_seat;
  device_slot& on_device(const char* call) const;

  batch batch_;
};

} // namespace leat
