#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sample/stream_source.hpp"
#include "runtime/storage/passed_over.hpp"
#include "runtime/storage/remote/store_of.hpp"

#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leat {

struct once_origin;

/// Opens data whose names belong to these stores.
template <class T>
using stored_opener = std::function<std::shared_ptr<T>(const store_set&)>;

/// Data that is opened by the first caller that needs it: T is `source`, `stream_source` or
/// `live_source`. Shared by all copies of a pipeline.
template <class T>
class lazy {
public:
  explicit lazy(std::function<std::shared_ptr<T>()> open)
      : open_([open = std::move(open)](const store_set&) { return open(); }) {}
  /// Data that is stored. `in` may be null: the process's stores.
  lazy(stored_opener<T> open, const std::shared_ptr<const store_set>& in)
      : open_(std::move(open)), stores_(in ? in : process_stores()), is_stored_(true) {}

  /// The same data in other stores, not opened; null if it is in none.
  std::shared_ptr<lazy> elsewhere(const std::shared_ptr<const store_set>& in) const {
    return is_stored_ ? std::make_shared<lazy>(open_, in) : nullptr;
  }

  /// Throws what opening throws; then the next call tries again. Any thread.
  std::shared_ptr<T> get() {
    mutex_lock lock{mutex_};
    return open();
  }
  /// Computed once: facts are hashes over all files. Throws like `get`.
  source_facts facts() {
    mutex_lock lock{mutex_};
    if (!facts_)
      facts_ = open()->facts();
    return *facts_;
  }
  /// What it passes over, as far as that is known on opening. Throws like `get`.
  passed_over others() {
    mutex_lock lock{mutex_};
    return passed_over_by(*open());
  }

private:
  std::shared_ptr<T> open() LEAT_REQUIRES(mutex_) {
    if (!data_) {
      data_ = open_(*stores_);
      tell(passed_over_by(*data_));
    }
    return data_;
  }

  const stored_opener<T> open_;
  const std::shared_ptr<const store_set> stores_ = process_stores();
  const bool is_stored_ = false;
  mutex mutex_;
  std::shared_ptr<T> data_ LEAT_GUARDED_BY(mutex_);
  std::optional<source_facts> facts_ LEAT_GUARDED_BY(mutex_);
};

using lazy_source = lazy<const source>;
using lazy_stream = lazy<const stream_source>;
using lazy_live = lazy<live_source>;

/// One operator of a pipeline as a value, with its inputs: a pipeline is a tree of these.
/// docs/pipelines.md lists the operators and their options.
struct operator_node {
  /// "tar_shards", "shuffle", "zip", ...
  std::string op;
  /// All options, in the order of the documentation; those that are
  /// operator_option::only_if_changed only with values that are not presets.
  std::vector<node_option> options = {};
  std::vector<std::shared_ptr<const operator_node>> inputs = {};
  /// Sources have one of these: for data that is indexed, is read in sequence, or exists once.
  std::shared_ptr<lazy_source> data = {};
  std::shared_ptr<lazy_stream> stream = {};
  std::shared_ptr<lazy_live> feed = {};
  /// What `feed` reads, where this process can read it. Null: another one does, or nobody.
  std::shared_ptr<const once_origin> origin = {};
  /// Maps only, one of the two: called once per worker.
  std::function<map_function()> make = {};
  std::function<map_together_function()> make_together = {};
  /// Maps only: what graphs say of it besides its name.
  std::string note = {};
  /// The functions of the operators that call one.
  std::shared_ptr<const filter_stage> filter = {};
  std::shared_ptr<const flat_map_stage> flat_map = {};
  std::shared_ptr<const scan_stage> scan = {};

  /// Where the names of a source, and of `read_files`, belong: the stores that were chosen for it.
  /// Null: none were.
  std::shared_ptr<const store_set> stores = {};

  bool is_source() const noexcept { return inputs.empty(); }
  /// The stores that were chosen, or else those of the process.
  const store_set& names_in() const { return stores ? *stores : *process_stores(); }
  /// Facts of a source. Opens the data.
  source_facts facts() const;
  /// What a source passes over in its data. Opens the data.
  passed_over others() const;

  /// The value of this option, or its preset where the node leaves it out. Throws
  /// `errc::invalid_argument` if the operator has none of this name.
  const option_value& value(std::string_view name) const;
  /// The value of an option, in its type.
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(value(name));
  }
};

using operator_ptr = std::shared_ptr<const operator_node>;

/// A pipeline that is only a source. Names of stored data belong to stores with options; if these
/// are all as they were, a loader's may take their place.
pipeline source_pipeline(std::string op, std::vector<node_option> options,
                         std::function<std::shared_ptr<const source>()> open);
pipeline source_pipeline(std::string op, std::vector<node_option> options,
                         stored_opener<const source> open, const remote_options& remote);
pipeline stream_pipeline(std::string op, std::vector<node_option> options,
                         std::function<std::shared_ptr<const stream_source>()> open);
pipeline stream_pipeline(std::string op, std::vector<node_option> options,
                         stored_opener<const stream_source> open, const remote_options& remote);
pipeline feed_pipeline(std::string op, std::vector<node_option> options,
                       std::function<std::shared_ptr<live_source>()> open,
                       std::shared_ptr<const once_origin> origin = {});

/// How large a tree is, up to one of its operators.
struct tree_size {
  std::size_t operators = 0;
  /// Operators on the way from the root.
  std::size_t height = 0;
  /// Joins (zip, concat) among these.
  std::size_t nested_joins = 0;
};

/// What a pipeline, and so a snapshot, can hold. Keeps every walk over a tree short, whatever file
/// the tree is from; joins stay well below protobuf's limit on nested messages.
inline constexpr tree_size max_tree_size{.operators = 10'000, .height = 1'000, .nested_joins = 64};

/// "more than 10000 operators"; empty for a tree within the limits.
std::string excess_of(const tree_size& x);

/// Throws `errc::invalid_argument` for a tree that exceeds the limits. Opens no data.
void check_tree_size(const tree_size& x);
void check_tree_size(const operator_node& root);

/// True for the same operators, options and shape; the contents of data and what functions do
/// cannot be compared.
bool same_operators(const operator_node& a, const operator_node& b);

/// Calls `visit` for every operator in data order: inputs first, from left to right.
void for_each_operator(const operator_node& root,
                       const std::function<void(const operator_node&)>& visit);

/// Digest of the sources' data: that of the only source, or one over those of several in data
/// order. Opens the data.
hash128 data_digest(const operator_node& root);

} // namespace leat
