#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/base/pass_number.hpp"
#include "runtime/order/order.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

class order_cache;
class sample_maker;

/// Which item of an indexed form: its number, in which epoch, in which pass of an enclosing repeat.
struct place {
  std::uint64_t item = 0;
  std::uint64_t epoch = 0;
  pass_number pass = 0;
};

/// An operator over indexed data with all below it, as an indexed form: any item of any epoch is
/// found in constant time and without state. Immutable, shared by all threads; what a thread keeps
/// for it lies in the order_cache or sample_maker that it passes.
class indexed_form {
public:
  virtual ~indexed_form() = default;

  /// Items of an epoch; the same in all.
  virtual std::uint64_t size() const noexcept = 0;

  virtual void append_id(const place& at, order_cache& orders, std::string& to) const = 0;

  /// Sets the item's fields in a sample without fields, and returns its key: who it is for its
  /// random numbers, wherever it stands. Throws what sources and maps throw.
  virtual std::uint64_t make(const place& at, sample& into, sample_maker& with) const = 0;
};

using indexed_form_ptr = std::shared_ptr<const indexed_form>;

/// Says in the sample which item it is; `from` and `orders` must outlive its row.
void identify(sample& x, const indexed_form& from, const place& at, order_cache& orders);

struct sample_graph;

/// Makes indexed forms of indexed parts of a pipeline, in data order, and counts what all parts
/// have in common: sources, maps, shuffles.
class indexed_planner {
public:
  /// What is found goes into the plan, which must outlive this. `lanes` is L.
  indexed_planner(sample_graph& plan, std::uint64_t lanes) : plan_(plan), lanes_(lanes) {}

  /// Opens the data. Throws `errc::invalid_argument` where an epoch has more than 2^62 samples.
  indexed_form_ptr build(const operator_node& x);

  // Also for what is not indexed.
  /// Ordinal of a new source.
  std::size_t add_source(std::string name);
  /// Number of a new map.
  std::size_t add_map(const operator_node& x);
  /// The first one is that of all maps.
  void see_seed(std::uint64_t seed);
  /// Once all is built: names and random streams.
  void finish();

private:
  indexed_form_ptr build_source(const operator_node& x);
  indexed_form_ptr build_unary(const operator_node& x, indexed_form_ptr input,
                               std::size_t first_source);
  indexed_form_ptr build_shuffle(const operator_node& x, indexed_form_ptr input,
                                 std::size_t first_source);

  sample_graph& plan_;
  std::uint64_t lanes_;
  bool has_seed_ = false;
  std::vector<std::string> source_names_;
  /// By first source.
  std::map<std::size_t, std::uint64_t> shuffles_above_;
};

/// Items of an epoch. Opens the data.
std::uint64_t size_of(const operator_node& root);

/// Digest of the sources' data: that of one source, or over those of several in data order.
hash128 data_digest(const operator_node& root);

/// L of a batch: what the user said, or the default (docs/pipelines.md). May open data.
/// Throws `errc::invalid_argument` where it does not divide the batch.
std::uint64_t lanes_of(const operator_node& batch);

/// The orders of one shuffle that were used last. Any thread.
class shared_orders {
public:
  explicit shared_orders(std::shared_ptr<const order_config> config) : config_(std::move(config)) {}

  std::shared_ptr<const epoch_order> get(std::uint64_t epoch, std::uint64_t pass);

private:
  const std::shared_ptr<const order_config> config_;
  mutex mutex_;
  std::deque<std::shared_ptr<const epoch_order>> used_ LEAT_GUARDED_BY(mutex_);
};

/// The order of each shuffle that one thread used last: most rows find theirs without a lock.
class order_cache {
public:
  explicit order_cache(std::size_t shuffles) : used_(shuffles) {}

  const epoch_order& get(std::size_t shuffle, shared_orders& all, std::uint64_t epoch,
                         pass_number in_pass) {
    const auto pass = pass_word(in_pass);
    auto& used = used_[shuffle];
    if (!used || used->epoch() != epoch || used->pass() != pass)
      used = all.get(epoch, pass);
    return *used;
  }

private:
  std::vector<std::shared_ptr<const epoch_order>> used_;
};

} // namespace leat
