#pragma once

#include "runtime/order/input_counts.hpp"
#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/order.hpp"
#include "runtime/rows/rare.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>

namespace leat {

/// What a worker found in an item.
struct sighting {
  probe_result found = {};
  /// The sample, if it is kept with its item.
  payload_ptr made = {};
  /// Bytes of that sample's memory; 0 if none is kept.
  std::size_t bytes = 0;

  /// Makes it like a new one; keeps memory.
  void clear() noexcept {
    found.clear();
    made = nullptr;
    bytes = 0;
  }
};

/// The result of a row, besides the bytes of its fields.
struct row_result {
  enum class outcome : std::uint8_t { good, masked, failed };

  outcome what = outcome::good;
  /// For an indexed order: the item that was delivered, the row's own or a substitute.
  epoch_item delivered;
  hash128 digest;
  hash128 pixels;
  /// What inputs of mixes gave to the row.
  input_counts given;
  /// Set if the sample was bad.
  rare<bad_row> bad;
  /// Set if the outcome is `failed`.
  rare<error> failure;
  /// A bit for each field that was made in the device's memory of the row, and not in the host's.
  std::uint64_t on_device = 0;
  /// For a probe.
  sighting seen;

  /// Makes it like a new one; keeps memory.
  void clear() noexcept {
    what = outcome::good;
    delivered = {};
    digest = {};
    pixels = {};
    given.clear();
    bad.reset();
    failure.reset();
    on_device = 0;
    seen.clear();
  }
};

} // namespace leat
