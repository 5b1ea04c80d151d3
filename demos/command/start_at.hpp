#pragma once

#include <leat/loader.hpp>

#include <cstdint>

namespace leat::command {

/// Moves a new loader to a batch, as if all before it had been handed over, with sums of zero.
/// Takes constant time. Before the loader's first next().
void start_at(loader& x, std::uint64_t epoch, std::uint64_t step);

} // namespace leat::command
