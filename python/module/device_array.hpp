#pragma once

#include <leat/batch.hpp>

#include "python/module/convert/arrays.hpp"
#include "python/module/python.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace leat::python {

/// Memory of a batch on its loader's device, as Python sees it. Shares the batch's lease with all
/// arrays that are made over it.
class device_array {
public:
  /// `shape` is copied.
  device_array(std::shared_ptr<lease> held, const void* data, dtype type,
               std::span<const std::int64_t> shape, device where);

  std::span<const std::int64_t> shape() const noexcept { return {shape_.data(), rank_}; }
  dtype type() const noexcept { return type_; }
  device where() const noexcept { return where_; }
  std::string repr() const;

  using version = std::pair<std::int64_t, std::int64_t>;
  using dlpack_device = std::pair<std::int64_t, std::int64_t>;

  /// A capsule of DLPack, whose memory `stream` may use: the array API's `__dlpack__`. Holds the
  /// GIL. Throws what nanobind makes a BufferError of.
  nb::object dlpack(const std::optional<std::int64_t>& stream, const std::optional<version>& most,
                    const std::optional<dlpack_device>& to,
                    const std::optional<bool>& copies) const;
  /// `__cuda_array_interface__`, version 3. Throws what nanobind makes an AttributeError of.
  nb::dict cuda_array_interface() const;

private:
  template <class Managed>
  nb::object capsule() const;

  std::shared_ptr<lease> lease_;
  const void* data_;
  dtype type_;
  std::size_t rank_;
  std::array<std::int64_t, max_dimensions> shape_ = {};
  device where_;
};

/// A field on the device: a DeviceArray, or for a ragged field a Ragged of two. Throws
/// `errc::wrong_field`.
nb::object on_device(const std::shared_ptr<lease>& of, std::string_view field);

/// Counts a stream, which is a number or an object of torch or CuPy, as one that uses the batch.
void used_on(lease& of, nb::handle stream);

} // namespace leat::python
