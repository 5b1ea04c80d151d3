#pragma once

#include <leat/source.hpp>

#include <cstddef>
#include <optional>

namespace leat::command {

/// What knowing the places of MCU rows is worth.
struct row_index_gain {
  /// Times faster: the usual random crop to 224 x 224, one thread, files in memory.
  double times = 1;
  std::size_t images = 0;
};

/// Measures it on images spread over the data; nothing where no image has a row index.
std::optional<row_index_gain> measure_gain(const source& data);

} // namespace leat::command
