#pragma once

#include "runtime/batch_layout.hpp"
#include "runtime/order.hpp"

#include <leat/bad_sample.hpp>
#include <leat/pipeline.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

/// Everything that the rows of a job have in common: what to read, what to do with it, and how its
/// random numbers are keyed. Immutable, shared by all workers.
struct row_plan {
  std::shared_ptr<const source> data;
  std::vector<map_stage> maps;
  /// Random stream of each map: see `map_stream`.
  std::vector<std::uint64_t> streams;
  std::shared_ptr<const order_config> order;
  std::shared_ptr<const batch_layout> layout;
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  bool hash_pixels = false;
  /// A drill: the function throws at this position.
  std::optional<std::uint64_t> throw_at;
  /// Set when the loader is being destroyed.
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
};

/// Checks the pipeline and finds the batch's layout by running record 0 (or the next ones, where it
/// is bad) through source and maps once. Throws `leat::error`.
row_plan plan_rows(const pipeline& x);

/// Fresh functions of all maps, for one worker. Throws `errc::invalid_argument` where a factory
/// throws.
std::vector<map_function> make_functions(const row_plan& plan);

/// The key of a map's random numbers: the low half of XXH3-128 (see hash_stream) of "map", seed,
/// the map's name@version, and its ordinal among the maps of that name. Parameters and other stages
/// have no part in it.
std::uint64_t map_stream(std::uint64_t seed, std::string_view name, std::uint64_t ordinal);

/// Who a record is, for its random numbers: the low half of XXH3-128 of (source ordinal, epoch,
/// repeat pass, record), each 8 bytes little-endian.
std::uint64_t birth_of(std::uint64_t source, std::uint64_t epoch, std::uint64_t pass,
                       std::uint64_t record) noexcept;

} // namespace leat
