#pragma once

#include "runtime/rows/indexed_order.hpp"

#include <cstddef>
#include <cstdint>
#include <random>

namespace leat {

/// An indexed job of which only the order matters.
struct paper_job {
  epoch_geometry shape;
  std::uint64_t epochs = 1;
  std::uint64_t world_size = 1;

  std::size_t rows_of_rank() const { return (shape.batch_rows + world_size - 1) / world_size; }

  indexed_order order(std::uint64_t rank, job_position start = {}) const {
    return {shape, rank, world_size, epochs, start};
  }
};

inline paper_job make_job(std::uint64_t items, std::uint64_t rows, std::uint64_t lanes,
                          std::uint64_t world_size, epoch_end end, std::uint64_t epochs = 1) {
  return {{.items = items, .batch_rows = rows, .lanes = lanes, .end = end}, epochs, world_size};
}

/// A random job with at least one batch per epoch, like every pipeline.
inline paper_job random_job(std::mt19937_64& chance) {
  const auto lanes = 1 + chance() % 6;
  const auto rows = lanes * (1 + chance() % 5);
  const auto end = chance() % 2 ? epoch_end::mask : epoch_end::drop;
  const auto fewest = end == epoch_end::drop ? rows : 1;
  return make_job(fewest + chance() % 90, rows, lanes, 1 + chance() % 7, end, 1 + chance() % 3);
}

} // namespace leat
