#pragma once

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// What a map does to one sample. Copied per worker, called by that worker alone.
using map_function = std::function<void(sample&, context&)>;

/// One map as a value: who it is (this goes into snapshots and random keys) and how a worker gets
/// its own function.
struct map_stage {
  /// "name@version". Change the version when the function's meaning changes.
  std::string name;
  /// Everything that its results depend on, as text: "size=224 type=f32".
  std::string parameters = {};
  /// Called once per worker.
  std::function<map_function()> make = {};
};

/// State per worker: `factory()` is called once for each worker and returns its function.
template <class Factory>
struct per_worker_factory {
  Factory factory;
};
template <class Factory>
per_worker_factory<Factory> per_worker(Factory factory) {
  return {std::move(factory)};
}

enum class shuffle_kind : std::uint8_t { none, full, windowed };
enum class epoch_end : std::uint8_t {
  /// The epoch ends with the last full global batch.
  drop,
  /// The last batch is filled up with invalid rows.
  mask,
};

struct shuffle_options {
  std::uint64_t seed = 0;
  shuffle_kind kind = shuffle_kind::full;
  /// Files that are shuffled with each other (windowed), at least 1.
  std::uint64_t window = 4;
};

struct batch_options {
  /// Number of lanes L; divides the global batch. 0: as many as rows (windowed: the largest divisor
  /// of the rows that is no larger than the number of files).
  std::uint64_t lanes = 0;
  epoch_end end = epoch_end::drop;
  /// Fields of the batch; empty: all that the samples have after the last map.
  std::vector<std::string> fields = {};
};

/// How a pipeline finds its data. Copies share one opened source.
struct source_stage {
  /// Kind of source: "tar", "folder", "count", "user@1".
  std::string kind;
  /// As the user wrote them.
  std::vector<std::string> patterns = {};
  std::map<std::string, std::string> parameters = {};
  /// Opens the data; called once, under a lock, by the first that needs it.
  std::function<std::shared_ptr<const source>()> open = {};
};

/// A pipeline as a value: source, order, maps, batch. Nothing is read before a loader needs it.
class LEAT_API pipeline {
public:
  explicit pipeline(source_stage source);

  /// Order of an epoch. Without this call: stored order, seed 0.
  pipeline shuffle(shuffle_options options = {}) const;

  /// Appends a map. A plain function is copied per worker.
  pipeline map(map_stage stage) const;
  pipeline map(std::string name, map_function function) const;
  template <class Factory>
  pipeline map(std::string name, per_worker_factory<Factory> factory) const {
    return map(map_stage{
        std::move(name), {}, [f = std::move(factory.factory)] { return map_function{f()}; }});
  }

  /// Rows of the global batch, over all ranks. Call it last.
  pipeline batch(std::uint64_t rows, batch_options options = {}) const;

  /// Number of records. Opens the data.
  std::uint64_t size() const;
  /// Steps of one epoch. Opens the data.
  std::uint64_t batches_per_epoch() const;

  const source_stage& source() const noexcept { return source_; }
  const shuffle_options& order() const noexcept { return shuffle_; }
  const std::vector<map_stage>& maps() const noexcept { return maps_; }
  std::uint64_t batch_rows() const noexcept { return batch_rows_; }
  const batch_options& batching() const noexcept { return batch_; }

  /// The opened data, shared by all copies. Throws what the source throws.
  const leat::source& data() const;
  std::shared_ptr<const leat::source> shared_data() const;

  /// Reads as it was written, a stage a line.
  friend LEAT_API std::string to_string(const pipeline& x);
  /// Same stages, names and parameters; the data's directory and the functions' code cannot be
  /// compared.
  friend LEAT_API bool operator==(const pipeline& a, const pipeline& b);

private:
  struct opened;

  source_stage source_;
  shuffle_options shuffle_{.kind = shuffle_kind::none};
  std::vector<map_stage> maps_;
  std::uint64_t batch_rows_ = 0;
  batch_options batch_;
  std::shared_ptr<opened> opened_;
};

} // namespace leat
