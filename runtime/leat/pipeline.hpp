#pragma once

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/remote_options.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// What a map does to one sample. Copied for each worker, and called only by that worker.
using map_function = std::function<void(sample&, context&)>;

/// What a map does to several samples, each with its context. It must make the same of a sample
/// whatever others it is given with: these differ from run to run.
using map_together_function =
    std::function<void(std::span<sample* const> samples, std::span<context> in)>;

/// One map as a value: its identity (which goes into snapshots and random keys), and how a worker
/// gets its own function.
struct map_stage {
  /// "name@version". Change the version when the function's meaning changes.
  std::string name;
  /// Everything that its results depend on, as text: "size=224 type=f32".
  std::string parameters = {};
  /// Called once per worker.
  std::function<map_function()> make = {};
  /// In place of `make`, for functions that cost less for several samples at once than for one by
  /// one, such as those in another language. Called once per worker. Its function gets up to 64
  /// samples if only maps follow in the pipeline, else one. If it throws, these samples are made
  /// again and given to it one by one, to find the bad one.
  std::function<map_together_function()> make_together = {};
  /// For bindings of other languages: returns the factory of functions that call this one in child
  /// processes, for `map_options::isolate`. Empty: they are found by name, see `run_worker`. Called
  /// by `pipeline::map`, which throws what it throws.
  std::function<std::function<map_together_function()>()> make_isolated = {};
  /// What graphs say of it besides its name, such as what it runs by. Results do not depend on it.
  std::string note = {};
};

struct map_options {
  /// The map runs in child processes, one per worker, so that a crash in it ends neither the job
  /// nor its other samples: a sample that ends its process twice, alone, is bad (`killed`). The
  /// batches, their order and snapshots are the same. Costs 10 to 20 us per sample and a copy of
  /// its fields, there and back.
  bool isolate = false;
};

/// A filter as a value: what it keeps. One of the two functions is set.
struct filter_stage {
  /// "name@version", as for maps.
  std::string name;
  std::string parameters = {};
  /// Judges content. Called once per worker; the function is called only by that worker.
  std::function<std::function<bool(sample&)>()> make = {};
  /// Judges just the id, without reading the sample. Any thread.
  std::function<bool(std::string_view id)> of_id = {};
};

/// What a flat_map does to one sample.
struct flat_map_function {
  /// How many children the sample has.
  std::function<std::uint64_t(sample&)> count = {};
  /// Turns the sample into one of them; `child` is below count(sample).
  std::function<void(sample&, std::uint64_t child)> pick = {};
};

struct flat_map_stage {
  std::string name;
  std::string parameters = {};
  /// Called once per worker.
  std::function<flat_map_function()> make = {};
  /// Set if every sample has the same number of children, whatever its content: none is read to
  /// count them.
  std::optional<std::uint64_t> children = {};
};

/// What a scan does in workers, in any order.
struct scan_function {
  /// What the step needs of a sample: a few bytes.
  std::function<std::string(sample&)> look = {};
  /// Puts the step's result into the sample.
  std::function<void(sample&, std::string_view result)> apply = {};
};

/// A map with state. Only `step` runs in order, sample by sample in each lane, with what workers
/// found; so samples are read and decoded in parallel all the same.
struct scan_stage {
  std::string name;
  std::string parameters = {};
  /// Called once per worker.
  std::function<scan_function()> make = {};
  /// The state before the first sample of an epoch or pass in a lane.
  std::string initial = {};
  /// Changes the state and returns the sample's result, a few bytes. A function of just its
  /// arguments; any thread.
  std::function<std::string(std::string& state, std::string_view looked)> step = {};
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
  /// drop for pipelines of indexed data whose order is indexed, mask for those with a once source,
  /// cycle for all others.
  automatic,
  /// The epoch ends with the last global batch that every lane can fill.
  drop,
  /// The epoch continues until all lanes are dry; missing rows are invalid.
  mask,
  /// There is one endless epoch: a dry lane begins its next pass, with everything in it started
  /// over.
  cycle,
};

struct shuffle_options {
  std::uint64_t seed = 0;
  shuffle_kind kind = shuffle_kind::full;
  /// Files that are shuffled with each other (windowed), at least 1.
  std::uint64_t window = 4;
};

struct batch_options {
  /// Number of lanes L; divides the global batch. 0: as many as rows (windowed: the largest divisor
  /// of the rows that does not exceed the number of files).
  std::uint64_t lanes = 0;
  epoch_end end = epoch_end::automatic;
  /// Fields of the batch; empty: all that the samples have after the last map.
  std::vector<std::string> fields = {};
};

/// Which of the open samples that have room for it a document goes into: the first, or the one that
/// has the least room (of several the first).
enum class pack_fit : std::uint8_t { first, best };

/// Which documents are cut.
enum class pack_cut : std::uint8_t {
  /// None: one longer than a sample is a bad sample.
  never,
  /// Those longer than a sample, into samples of their own, and a rest that is packed like any
  /// other
  /// document.
  above,
  /// All that do not fit into what is left of a sample: the same as `split`.
  always,
};

struct pack_options {
  /// Samples that are open at one time in each lane, at least 1. With `split` there is one,
  /// whatever is given here.
  std::uint64_t bins = 8;
  /// Documents continue in the next sample. Otherwise `cut` says what becomes of a document longer
  /// than a sample.
  bool split = false;
  /// An element that follows every document.
  std::optional<std::uint64_t> delimiter = {};
  /// The element that fills samples up.
  std::uint64_t pad = 0;
  /// `first` with `split`, whatever is given here: there is only one sample then.
  pack_fit fit = pack_fit::first;
  /// `above` and `split` exclude each other.
  pack_cut cut = pack_cut::never;
  /// Adds the field `labels`, int64 [length]: for each element the one that follows it in its
  /// document, also where a cut has put that into another sample, and `ignore_index` for the last
  /// element of a document and for padding.
  bool labels = false;
  /// Above -2^53 and below 2^53. Only with `labels`.
  std::int64_t ignore_index = -100;
  /// Adds `cu_seqlens`, int32 and ragged: where each document of the sample begins, then the end of
  /// the last one; and `longest`, int32: the number of elements of the longest of them.
  bool cu_seqlens = false;
  /// Has the field `segment`, int32 [length]: which document of the sample an element belongs to,
  /// from 1, and 0 for padding.
  bool segment = true;
  /// Has the field `offset`, int32 [length]: an element's number in its document, and 0 for
  /// padding.
  bool offset = true;
};

/// Both count samples over all lanes.
struct length_bucket_options {
  /// Samples that come one after the other from one bucket: the rows of the batch. A multiple of
  /// the lanes.
  std::uint64_t group = 0;
  /// The most samples that wait for others of their length, at least `group`.
  std::uint64_t window = 0;
};

struct token_budget_options {
  /// Rows of the global batch.
  std::uint64_t rows = 0;
  /// Counts each sample of a lane's share as long as the longest of them: for batches that are
  /// padded.
  bool padded = false;
};

/// How a file holds samples, and which fields these have.
enum class file_format : std::uint8_t {
  /// As `tar_stream`.
  tar,
  /// As `lines`.
  lines,
  /// As `json_lines`.
  json_lines,
};

struct read_files_options {
  /// Holds the file's name; has rank 0 or 1, or is bytes.
  std::string field = "text";
  /// Where names begin that do not begin with "/"; empty: in the process's working directory.
  std::string folder = {};
  /// Types of fields, if the format is `json_lines`: see `line_options::types`.
  std::map<std::string, std::string> types = {};
  remote_options remote = {};
};

enum class mix_rule : std::uint8_t {
  /// Always from the input that is furthest below its share: shares are kept as closely as
  /// possible.
  deficit,
  random,
};
enum class mix_stop : std::uint8_t {
  /// The mix ends when all inputs have ended; those that are left divide the shares of the others.
  all,
  /// At the end of the first input that ends. What the others have left is not used.
  first,
  /// Inputs that end begin again, until all have ended once.
  cycle,
};

/// What the numbers of a mix's schedule count.
enum class mix_schedule : std::uint8_t {
  /// Steps of the epoch.
  steps,
  /// The cost of what the mix gave in the epoch, over all lanes.
  cost,
};

/// What an operator does that has met as many different keys as it may remember.
enum class deduplicate_kind : std::uint8_t {
  /// It forgets the oldest one.
  window,
  /// It ends the job with an error: none is forgotten.
  set,
};

/// Weights that hold from a step on, or with `mix_schedule::cost` from a cost on.
struct weight_change {
  std::uint64_t step = 0;
  /// As `mix_options::weights`: one per input.
  std::vector<double> weights = {};
};

struct mix_options {
  /// One per input: finite numbers of at least 0, not all of them 0. Only their ratios count:
  /// docs/iterators.md says how they become whole numbers, which is what the pipeline has. From an
  /// input with the weight 0 nothing is taken while another one is live that has more. Empty: all
  /// the same.
  std::vector<double> weights = {};
  mix_rule rule = mix_rule::deficit;
  mix_stop stop = mix_stop::all;
  /// Shares count this field's elements; empty: samples.
  std::string cost = {};
  std::uint64_t seed = 0;
  /// Other weights from a step of the epoch on, the first at step 1 or later, in rising order: each
  /// holds up to the next. By steps, only for a mix with no operator above it that probes content.
  std::vector<weight_change> schedule = {};
  /// T, above 0: a weight w counts as w^(1 / T), here and in `schedule`. Above 1 the shares are
  /// more equal than the weights.
  double temperature = 1;
  /// How often an input may begin again at most, with `mix_stop::cycle`; then it has ended for
  /// good, and the others share what it had. 0: as often as need be.
  std::uint64_t max_repeats = 0;
  /// What the steps of `schedule` are; `cost` needs a cost.
  mix_schedule schedule_by = mix_schedule::steps;
};

struct journal_options {
  /// Survives a power cut, too: every write is followed by fdatasync before its records are seen.
  /// Without it the journal survives whatever kills the process.
  bool sync = false;
  /// Size of a journal's files; records that are no longer needed are removed file by file. At
  /// least 1.
  std::uint64_t file_bytes = 64 << 20;
};

struct operator_node;

/// A pipeline as a value: a tree of operators over sources. Nothing is read before a loader needs
/// it. docs/pipelines.md says what each operator does. Large because each operator is a member
/// function.
class LEAT_API pipeline {
public:
  /// From leat's own functions: `tar_shards`, `zip`, ...
  explicit pipeline(std::shared_ptr<const operator_node> root);

  /// A new order in every epoch. Without this call: stored order.
  pipeline shuffle(shuffle_options options = {}) const;

  /// Appends a map. A plain function is copied per worker.
  pipeline map(map_stage stage, map_options options = {}) const;
  pipeline map(std::string name, map_function function, map_options options = {}) const;
  template <class Factory>
  pipeline map(std::string name, per_worker_factory<Factory> factory,
               map_options options = {}) const {
    return map(map_stage{std::move(name),
                         {},
                         [f = std::move(factory.factory)] { return map_function{f()}; }},
               options);
  }

  /// The first n samples of an epoch, or all if there are fewer.
  pipeline take(std::uint64_t n) const;
  /// All but the first n samples of an epoch; none if there are fewer.
  pipeline skip(std::uint64_t n) const;
  /// The samples n times in one epoch, n at least 1; each pass is shuffled differently.
  pipeline repeat(std::uint64_t n) const;
  /// Adds a field, int64: the sample's number in the epoch, in the order at this point.
  pipeline enumerate(std::string field = "index") const;

  // The following change how many samples there are or in which order they come, lane by lane
  // (docs/iterators.md). What one of them holds back at the end of an epoch still comes in that
  // epoch; the next one starts over. Numbers of samples are totals: each lane has its share of
  // them. Bad samples are treated as the policy says: under `mask` they pass, as invalid rows.

  /// The samples that a filter keeps. Lanes may keep more or fewer than others: see `epoch_end`.
  pipeline filter(filter_stage stage) const;
  /// Each sample with the probability p, 0 to 1: different ones in every epoch, and in each pass of
  /// a repeat. Decided only by id, seed and epoch, whatever the lanes, ranks and workers.
  pipeline sample(double p, std::uint64_t seed = 0) const;
  /// Each sample's children, in its place: none, one or many.
  pipeline flat_map(flat_map_stage stage) const;
  /// A map with state: a field that depends on the samples before, in the lane.
  pipeline scan(scan_stage stage) const;
  /// The samples without repetitions: those whose fields, all of these together, have the same
  /// bytes as those of a sample that was kept before are dropped. Each lane remembers its share of
  /// `keys`, 1 to 2^32 over all lanes and at least 1 per lane, as hashes of 64 bits, and knows
  /// nothing of other lanes. It starts over with each epoch. Throws `errc::invalid_argument` for no
  /// fields. Bad samples: missing_field.
  pipeline deduplicate(std::vector<std::string> fields, std::uint64_t keys,
                       deduplicate_kind kind = deduplicate_kind::window) const;
  /// The samples in the files that the samples here name, file after file in each lane: for lists
  /// of files that are data themselves, or become known while the job runs. Files may be
  /// compressed, as for `tar_stream`, and must not change. A name without a plain file ends the
  /// job, whatever the policy for bad samples.
  pipeline read_files(file_format format, read_files_options options = {}) const;
  /// The samples in an order drawn from a buffer of n, over all lanes; it holds only references. At
  /// the end of an epoch it is emptied in drawn order. Fewer than 2 samples per lane are refused.
  pipeline shuffle_buffer(std::uint64_t n, std::uint64_t seed = 0) const;
  /// The samples in groups of similar length: each lane's share of a batch of `group` rows then has
  /// samples of one bucket. The length is that of `field`: the extent of its outermost dimension,
  /// or its bytes; a sample without one is bad. Bucket i has the lengths up to `boundaries[i]` that
  /// no bucket before it has, and one more has those that are longer. Boundaries rise. Where as
  /// many samples wait as `window` allows, the one that has waited longest goes, with those nearest
  /// to it in length; at the end of an epoch the rest comes by rising buckets.
  pipeline length_bucket(std::string field, std::vector<std::uint64_t> boundaries,
                         length_bucket_options options) const;
  /// Batches of as many samples as a number of tokens allows: a batch of `rows` rows gets no sample
  /// that would make it longer than `tokens`, and rows for which none is left are invalid. The rows
  /// and the tokens are those of the global batch: each lane has its share of both, so that ranks
  /// and workers change nothing. The length is that of `length_bucket`; a sample that is longer
  /// than a lane's share is bad. Call it last, but for maps and `batch(rows)`. Throws
  /// `errc::invalid_argument`.
  pipeline token_budget(std::string field, std::uint64_t tokens,
                        token_budget_options options) const;
  /// Samples of `length` elements, 1 to 2^31 - 1, put together from several documents: `field`
  /// [length], `segment` and `offset` (int32: which document an element belongs to, and its place
  /// in that document), and those that the options add. Other fields are removed. `field` has rank
  /// 1 or is bytes, otherwise the sample is bad; so is one longer than `length`, unless it may be
  /// cut. It has none of the names of the fields that are added. At the end of an epoch open
  /// samples are filled up.
  pipeline pack(std::string field, std::uint64_t length, pack_options options = {}) const;

  /// The same pipeline, with a journal for each source whose records exist once (`standard_input`,
  /// `once`): every record is in it before anyone sees it, so that a later process resumes from a
  /// snapshot without losing any. Journals are folders NAME-N of `directory`, where N counts such
  /// sources in data order; they continue where they end, and one process uses them at a time: in a
  /// cluster that of rank 0, and no other opens them.
  /// Where they lie is not part of the pipeline's text or identity. Throws
  /// `errc::invalid_argument`; opening the journals throws `errc::io`, `errc::torn_file` and
  /// `errc::mismatch` (for another kind of source).
  pipeline journal(std::string directory, journal_options options = {}) const;

  /// Rows of the global batch, over all ranks. Call it last.
  pipeline batch(std::uint64_t rows, batch_options options = {}) const;

  /// Number of samples per epoch, before the end rule. Opens the data.
  std::uint64_t size() const;
  /// Steps of one epoch; empty if they are not known in advance. Opens the data.
  std::optional<std::uint64_t> batches_per_epoch() const;

  /// The last operator, with all operators before it.
  const operator_node& root() const noexcept { return *root_; }

  /// The text form: what `parse_pipeline` reads.
  friend LEAT_API std::string to_string(const pipeline& x);
  /// True for the same operators, names and options; the contents of data and what functions do
  /// cannot be compared.
  friend LEAT_API bool operator==(const pipeline& a, const pipeline& b);
  friend LEAT_API pipeline zip(std::vector<pipeline> inputs);
  friend LEAT_API pipeline concat(std::vector<pipeline> inputs);
  friend LEAT_API pipeline mix(std::vector<pipeline> inputs, mix_options options);

private:
  pipeline then(operator_node next) const;
  static pipeline join(operator_node next, std::vector<pipeline> inputs);

  std::shared_ptr<const operator_node> root_;
};

/// Sample p of all inputs as one sample, up to the end of the shortest input. Fields with the same
/// name in two inputs are an error: see `rename`.
LEAT_API pipeline zip(std::vector<pipeline> inputs);
/// The samples of the first input, then those of the next.
LEAT_API pipeline concat(std::vector<pipeline> inputs);
/// Samples of all inputs, in shares as their weights say, lane by lane. `mix_stop` says what
/// happens to inputs of unequal length. Throws `errc::invalid_argument` for a number of weights
/// other than that of inputs, for weights that are not as `mix_options` says, and for one that is
/// so small beside the largest that it would become 0.
LEAT_API pipeline mix(std::vector<pipeline> inputs, mix_options options = {});

/// A map that keeps these fields, in this order. Bad samples: missing_field.
LEAT_API map_stage select(std::vector<std::string> fields);
/// A map that gives a field another name. Bad samples: missing_field; wrong_shape if the new name
/// is taken.
LEAT_API map_stage rename(std::string from, std::string to);

LEAT_API std::string to_string(const pipeline& x);

/// Reads the text form (docs/pipelines.md). Throws `errc::invalid_argument` with line and column.
LEAT_API pipeline parse_pipeline(std::string_view text);

/// Makes a function of the program known to `parse_pipeline`: `make` gets the parameters as written
/// in the text ("size=224 type=u8"). A later registration of a name replaces it.
LEAT_API void register_map(std::string name,
                           std::function<map_stage(const std::string& parameters)> make);
/// Registers predicates, flat_maps and scans in the same way.
LEAT_API void register_predicate(std::string name,
                                 std::function<filter_stage(const std::string& parameters)> make);
LEAT_API void register_flat_map(std::string name,
                                std::function<flat_map_stage(const std::string& parameters)> make);
LEAT_API void register_scan(std::string name,
                            std::function<scan_stage(const std::string& parameters)> make);
/// Makes a source of the program known to `parse_pipeline`, as `indexed("name@1")`.
LEAT_API void register_source(std::string name, std::shared_ptr<const source> data);

} // namespace leat
