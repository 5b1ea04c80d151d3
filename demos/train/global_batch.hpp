#pragma once

#include "demos/train/model.hpp"

#include <leat/batch.hpp>

#include <filesystem>
#include <vector>

namespace leat::train {

/// One step's batches of all ranks.
using rank_batches = std::vector<lease>;

/// The rows of all ranks in the order of their positions: what an all-gather would give. It is the
/// same for any number of ranks, and so are the weights learned from it.
examples gather(const rank_batches& ranks);

/// Sum of the ranks' digests: the global batch's.
hash128 digest_of(const rank_batches& ranks);

/// Writes the images of one step in the order of their positions, side by side, as PNG.
void write_picture(const std::filesystem::path& file, const rank_batches& ranks);

} // namespace leat::train
