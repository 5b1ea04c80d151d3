#pragma once

#include <leat/bad_sample.hpp>
#include <leat/export.hpp>
#include <leat/hash128.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// How the samples of a pipeline become batches: a plain value.
struct LEAT_API epoch_facts {
  /// Rows of the global batch G, at least 1.
  std::uint64_t batch_rows = 1;
  /// L as resolved: at least 1, divides G.
  std::uint64_t lanes = 1;
  /// Never automatic.
  epoch_end end = epoch_end::drop;
  /// The order is a formula, without state; else iterators find it lane by lane.
  bool is_indexed = true;
  /// Samples of an epoch, also those that the end rule leaves out; empty: not known beforehand.
  std::optional<std::uint64_t> samples = {};
  /// Global batches of an epoch; empty: not known beforehand, or endless.
  std::optional<std::uint64_t> batches = {};

  /// There is one epoch, without end.
  bool is_endless() const noexcept { return end == epoch_end::cycle; }
  /// Several ranks have to agree on the end of an epoch: see `loader_options::agree`.
  bool needs_agreement() const noexcept { return !is_indexed && !is_endless(); }
  /// World sizes that a job may have, rising; empty: any.
  std::vector<std::uint64_t> world_sizes() const;

  friend bool operator==(const epoch_facts&, const epoch_facts&) = default;
};

/// Opens the data, and reads no sample. Throws all that is wrong with the pipeline.
LEAT_API epoch_facts epoch_of(const pipeline& x);

/// A global batch that is due, over all ranks. The row at position p is that of rank
/// p mod world size.
struct due_batch {
  std::uint64_t epoch = 0;
  /// Counted in the epoch.
  std::uint64_t step = 0;
  /// Position of each row in its epoch, rising.
  std::vector<std::uint64_t> positions = {};
  /// The sample of each row.
  std::vector<std::string> ids = {};
  /// Sum of the rows' digests: what the digests of all ranks' batches add up to.
  hash128 digest = {};

  friend bool operator==(const due_batch&, const due_batch&) = default;
};

/// Where a preview begins.
struct preview_options {
  /// At most 2^64 - 2; 0 where the one epoch is endless.
  std::uint64_t epoch = 0;
  /// The first batch, counted in the epoch.
  std::uint64_t step = 0;
  /// Changes of the weights of the pipeline's only mix, as `loader::set_weights` makes them.
  std::vector<weight_change> weights = {};
  /// The job's: where an operator looks at a bad sample, the preview fails, or under `mask`
  /// continues, as the job does.
  bad_sample_policy bad_samples = bad_sample_policy::fail;
};

/// What loaders of a pipeline hand over in an epoch where all samples are good, and what they name
/// where some are not, found out without making any: `for (const auto& batch :
/// leat::order_preview(data, {.epoch = 3}))`. Content is read only where an operator looks at it;
/// records that exist once are used up. For one thread.
class LEAT_API order_preview {
public:
  /// Opens the data. Takes constant time where the order is a formula; else the batches before the
  /// first are run through. Throws `leat::error`: empty_epoch where an epoch has no batch,
  /// invalid_argument for an epoch that no job has, and all that is wrong with the pipeline.
  explicit order_preview(const pipeline& data, const preview_options& from = {});
  ~order_preview();
  order_preview(order_preview&&) noexcept;
  order_preview& operator=(order_preview&&) noexcept;

  /// The next batch; empty after the epoch's last batch, and if the first one would come after
  /// that. Throws what reading throws.
  std::optional<due_batch> next();

  const epoch_facts& epoch() const noexcept;

  /// What next() gives, up to the epoch's last batch.
  class iterator {
  public:
    explicit iterator(order_preview& from) : from_(&from), next_(from.next()) {}
    const due_batch& operator*() const noexcept { return *next_; }
    const due_batch* operator->() const noexcept { return &*next_; }
    iterator& operator++() {
      next_ = from_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const noexcept { return !next_; }

  private:
    order_preview* from_;
    std::optional<due_batch> next_;
  };
  /// Takes the next batch.
  iterator begin() { return iterator{*this}; }
  std::default_sentinel_t end() const noexcept { return {}; }

private:
  class reader;
  std::unique_ptr<reader> reader_;
};

/// Digest of one delivered row: XXH3-128, seed 0, of (epoch, 8 bytes little-endian; position,
/// likewise; id of what was delivered, UTF-8). A batch's digest is the sum over its valid rows
/// modulo 2^128. Layout and test vectors in docs/digest.md.
LEAT_API hash128 row_digest(std::uint64_t epoch, std::uint64_t position,
                            std::string_view id) noexcept;

} // namespace leat
