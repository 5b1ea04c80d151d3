#pragma once

#include <leat/batch.hpp>
#include <leat/cluster.hpp>
#include <leat/dispatch_policy.hpp>
#include <leat/epoch_agreement.hpp>
#include <leat/helpers.hpp>
#include <leat/loader_stats.hpp>
#include <leat/patience.hpp>
#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>
#include <leat/resume_point.hpp>
#include <leat/runtime.hpp>
#include <leat/trace.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

class loader_seat;
struct fault_drill;

/// As many workers as the trainer needs so that it does not wait, within the cores that the process
/// may use (its affinity and its control group), shared with its other loaders: the loader adds and
/// removes workers while the job runs. Batches are the same for any number.
inline constexpr std::size_t automatic = SIZE_MAX;

/// Cores that this process may use at a time: those of its affinity (sched_getaffinity), or fewer
/// if its control group says so; at least 1.
LEAT_API std::size_t usable_cores();

struct loader_options {
  /// This process among `world_size` trainer processes.
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// Threads that read and decode, at most 4096. 0: everything in the thread that calls next().
  std::size_t workers = automatic;
  /// The job's length, counted from epoch 0, also after a restore.
  std::uint64_t epochs = 1;
  /// The job ends after this many steps, counted from epoch 0, also after a restore, and including
  /// those that are left out.
  std::uint64_t steps = UINT64_MAX;
  /// Batches made ahead of the one in use. 0: two, and more of small batches (up to 16 in 8 MiB).
  std::size_t prefetch = 0;
  /// Leases that the caller may hold at one time, at least 1.
  std::size_t leases = 2;
  dispatch_policy dispatch = dispatch_policy::on_demand;
  bad_sample_policy bad_samples = bad_sample_policy::fail;
  /// Side log with one JSON line for each bad sample handed over; empty: none. A restore removes
  /// lines after its position. Ranks in different processes need files of their own.
  std::string bad_sample_log = {};
  /// A function of the pipeline that runs longer, of whatever kind, is an error at next() that
  /// names stage and sample. 0: never. Functions that run in the caller's own thread (those of the
  /// first sample, by which the loader learns the batch's fields; all with 0 workers) can only be
  /// named: see `on_stuck`.
  std::chrono::milliseconds stuck_after{std::chrono::minutes{5}};
  /// Called with the error by another thread when such a function hangs, and again each time that
  /// the limit passes; must not call the loader. Empty: a notice. To end the process:
  /// `[](const leat::error& x) { std::cerr << x.what() << '\n'; std::_Exit(1); }`.
  std::function<void(const error&)> on_stuck = {};
  /// Called about ten times a second, in the caller's thread, by calls that wait or take long (see
  /// leat::patience, which does the same for one thread); must not call the loader. If it returns
  /// false, that call throws `errc::interrupted`, nothing is lost, and the call may be made again.
  /// Empty: calls wait without it.
  std::function<bool()> while_waiting = {};
  /// Complete snapshot sets kept by save(); in a cluster, what the one says that runs the
  /// coordinator.
  std::uint64_t keep = 3;
  /// Computes batch::content_hashes(); costs about 1 ms per 10 MB in the workers.
  bool hash_pixels = false;
  /// An all-gather: gives every rank what all ranks say, and waits for them (MPI_Allgather of three
  /// integers). Needed by several ranks for pipelines of unknown length that end (`drop`, `mask`).
  /// Called in the caller's thread, at the same batches on all ranks, by next(), and by seek() and
  /// skip_first_batches() for batches that they run through: at an epoch's first batch, and then
  /// once for as many batches as iterators have run ahead (up to 64). A rank that has failed does
  /// not call it again, and so it should throw where a rank is gone.
  std::function<std::vector<epoch_agreement>(const epoch_agreement&)> agree = {};
  /// The other ranks of the job, on this machine or others, with which this process agrees on all
  /// that loaders must agree on; `agree` is not needed then. Empty: ranks do not know one another.
  std::optional<leat::cluster> cluster = {};
  /// Where helpers connect, which make rows for this rank as long as they are there: "host:port",
  /// port 0: the system chooses one, which a notice names; ":0": at loopback, or at the first
  /// address that other machines can use, if `helpers` lets them. They are started with
  /// `leat worker --join`, or by `run_worker`, at any time and in any number, and may vanish at any
  /// time: the batches are the same. For `dispatch_policy::on_demand`, at least one worker, and
  /// decoders other than "nvjpeg". Empty: no helpers.
  std::string workers_at = {};
  /// Who may, and what travels to them; empty: any process of this machine, or in a cluster those
  /// that know its token. Who may be a feed, too, with certificates for the role feed.
  std::optional<helper_access> helpers = {};
  /// Where the pipeline's feeds connect (`feed`): as `workers_at`. They are started with `leat feed
  /// --join`, or by `run_feed`, before or after the loader. Empty: in a cluster ":0", or
  /// loopback if the coordinator's address is that, and feeds find it by the coordinator; else
  /// nowhere. In a job of several processes rank 0 connects there,
  /// too, if the pipeline has `standard_input` or `once`.
  std::string feeds_at = {};
  /// A timeline in which the loader is shown; empty: none, at no cost.
  std::shared_ptr<leat::trace> trace = {};
  /// Where the memory of batches comes from, for example pinned memory. It is asked for each dense
  /// field of each slot, by the thread that calls next(), for memory aligned to 4096 bytes, which
  /// leat zeroes and then uses for all batches; it gets the memory back once the loader and all
  /// leases are gone, from any thread. What it throws is `errc::no_resources` at next(). Empty:
  /// huge pages of the system.
  std::shared_ptr<std::pmr::memory_resource> batch_memory = {};
  /// Where fields of batches go: "cpu", "cuda" or "cuda:N", a GPU by its number in this process
  /// (CUDA_VISIBLE_DEVICES). They are copied from pinned memory, ahead of their use, and lie in the
  /// device's memory for `leases` + 2 batches: see lease::on_device(). CUDA starts at the first
  /// next(). Not with `batch_memory`.
  std::string device = "cpu";
  /// The fields that go there, none of bytes. Empty: all numeric ones, ragged ones included.
  std::vector<std::string> device_fields = {};
  /// Where JPEGs of these fields are decoded that have a row index: "cpu"; "device", or an error
  /// that says why it cannot; "auto": on the device, where it can, else on the processors. Pixels
  /// are the same. "nvjpeg": by NVIDIA's nvJPEG, with or without an index, or an error that says
  /// why it cannot; pixels are others, and no snapshot or digest tells. What was decoded on a
  /// device is not on the host: see batch::device_field().
  std::string decoder = "auto";
  /// How servers are asked for data, by all sources and `read_files` that have no such options of
  /// their own: those of a pipeline that was read from text.
  remote_options remote = {};
  /// What the loader runs in. Empty: the process's own, which the first loader begins.
  std::shared_ptr<leat::runtime> runtime = {};
  /// For drills: see <leat/testing.hpp>. Empty: none.
  std::shared_ptr<const fault_drill> fault = {};
};

struct restore_options {
  /// Differences that the caller accepts, by the names that the error lists.
  std::vector<std::string> allow = {};
  /// Takes an older complete set if the newest has a torn file.
  bool allow_older = false;
};

/// Feeds one rank of a training job: connects a pipeline's actors with a trainer's thread.
///
/// Every member but stats() and interrupt() is for one thread, the trainer's; leases and batches
/// are for any. Several loaders in one process share one runtime, unless they are given others;
/// once it is shut down, calls that need it or change the loader throw `errc::shut_down`.
/// Destroying a loader is allowed at any moment, also with leases out: it asks running functions to
/// stop, waits for them and for a save() in progress.
///
/// In the child of a fork every call of its parent's loaders throws `errc::forked`, and destroying
/// them there does nothing: their memory stays. A child may have loaders of its own if its parent
/// had no loader and no runtime with threads at the fork: see leat::shutdown(). Otherwise the
/// constructor throws `errc::forked`.
/// Large because it is the whole interface between a training loop and its data.
class LEAT_API loader {
public:
  /// Opens the data and checks the pipeline. Throws `leat::error` (invalid_argument, empty_epoch,
  /// and what the source throws).
  loader(const pipeline& data, loader_options options);
  ~loader();
  loader(loader&&) noexcept;
  loader& operator=(loader&&) noexcept;

  /// The next batch, or an empty lease after the last one. If it throws `leat::error`, each later
  /// call throws the same error again; snapshots taken before stay valid.
  ///
  /// In a cluster it also waits where other ranks have to come first, and throws `errc::regrouped`
  /// after all ranks went back to a stored set (or to the beginning), perhaps in another number:
  /// then load the weights of position().global_step and continue with next(). `errc::cluster` if
  /// another rank has failed, or the coordinator is gone for too long.
  lease next();

  /// Steps of one epoch; empty if they are not known in advance: streams, operators that drop, keep
  /// back or make samples, and `cycle`.
  std::optional<std::uint64_t> batches_per_epoch() const;

  /// Leaves out the rest of the epoch: the next batch is the first of the next epoch. To be called
  /// at the same batch on all ranks. Throws `errc::invalid_argument` under `cycle`.
  void abandon_epoch();

  /// Starts the job over: the next batch is the first of epoch 0, with sums of zero, as in a new
  /// loader, and the same batches follow, also after a restore. Meant for a validation that runs
  /// again and again: data stays open, workers stay alive, and batches are made ahead at once.
  /// Allowed at any time, alike on all ranks. Steps that are left out stay left out; leases that
  /// are held stay valid. Throws `errc::invalid_argument` for records that exist once, and the
  /// error of a loader that has failed.
  void rewind();

  /// `for (auto batch : loader)`: what next() gives, up to the empty lease. Each iteration owns its
  /// lease, which ends with the iteration unless it is moved elsewhere.
  class iterator {
  public:
    explicit iterator(loader& from) : from_(&from), next_(from.next()) {}
    lease operator*() noexcept { return std::move(next_); }
    iterator& operator++() {
      next_ = from_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const noexcept { return !next_; }

  private:
    loader* from_;
    lease next_;
  };
  /// Takes the next batch.
  iterator begin() { return iterator{*this}; }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Resumes after the newest complete snapshot set in a directory; without one, starts at the
  /// beginning (and then returns nothing). `path` may also be one file with the parts of a whole
  /// job, epoch-E-step-S.of-W: resumes after that. Before the first next(). Throws `leat::error`
  /// (bad_snapshot; mismatch with all that differs; not_found if such a file is not there).
  std::optional<resume_point> restore(const std::string& path, const restore_options& options = {});

  /// Joins the cluster: waits until all ranks are there, and stands where they begin. restore() and
  /// the first next() do it, too. restore() resumes all ranks from one set; it is to be called even
  /// if the directory is empty, where save() will write. A job that is over already has no batches.
  /// Without a cluster nothing happens. Throws `errc::cluster`.
  void join();

  /// With `rank_loss::alone`: continues at this step of the job, by batch::global_step(), which the
  /// trainer names: it has its weights from the other ranks. The batches before it are made once
  /// more, but not handed over. After restore(), or `errc::regrouped`, before the next next();
  /// needed if has_come_back(), and allowed always. Throws `errc::invalid_argument` for a step
  /// before the one where the loader stands.
  void resume_at(std::uint64_t global_step);

  /// With `rank_loss::alone`: whether the others continued while this rank was lost, by this
  /// process or the one whose place it takes, so that next() needs a resume_at() first. If not, all
  /// begin at the same place, where position() stands.
  bool has_come_back() const;
  /// The term of the cluster in which this rank has its place (cluster_report::term); 0 before it
  /// has joined, and without a cluster. What was handed over in earlier terms after position() does
  /// not count any more.
  std::uint64_t cluster_term() const;

  /// Restores from the bytes of batch::snapshot(): all parts of one step, in any order; or any one
  /// of them, which restores the order and leaves digest and counts partial.
  resume_point restore_parts(const std::vector<std::string>& parts,
                             const restore_options& options = {});

  /// Begins at a batch as if all before it had been handed over, with sums of zero. Takes constant
  /// time if the order is indexed; otherwise the epoch's batches before it are run through, without
  /// making their samples. Before the first next(), in place of a restore, alike on all ranks.
  /// Throws `errc::invalid_argument` for a step that the epoch does not have, for a loader that
  /// has begun, and in a cluster.
  void seek(std::uint64_t epoch, std::uint64_t step);

  /// Leaves out the next n batches, also across ends of epochs, but not beyond the end of the job,
  /// after a restore or from the beginning. Takes time as seek() does. Before the first next(),
  /// alike on all ranks.
  void skip_first_batches(std::uint64_t n);

  /// Where the loader stands: the next batch, and the digest of what this rank handed over.
  resume_point position() const;

  /// Leaves out steps of the job, `first` to `last` by batch::global_step(): their batches are not
  /// handed over, those before and after stay as they are, steps keep their numbers. Every snapshot
  /// from now on records it, so that a resumed job leaves them out, too. For a loss spike: restore
  /// an earlier snapshot, then call this, alike on all ranks, before the first next(). Steps that
  /// the restored job left out already may be named again, so that a job can be started again with
  /// the same calls. Throws `errc::invalid_argument` for other steps in the past, here or at a
  /// later restore.
  void leave_out_steps(std::uint64_t first, std::uint64_t last);

  /// Changes the weights of the pipeline's mix: from step `from` of the job on, by
  /// batch::global_step(), these hold, up to a later change or a later step of the mix's schedule.
  /// Weights are as `mix_options::weights`, one per input, without its temperature. Alike on all
  /// ranks. Every snapshot from now on records the change, so a resumed job makes it, too, and
  /// `preview_options::weights` shows its order. May be called before the first next() and between
  /// batches: what was made ahead is then made again. `from` is at least the next step of every
  /// rank; without it, it is this rank's next step, which only a job of one rank may leave unsaid.
  /// A change that the job has already may be made again, also where it is past, so that a job can
  /// be started again with the same calls.
  ///
  /// Throws `errc::invalid_argument` for a pipeline without exactly one mix, with an operator that
  /// probes content above it, or with epochs that end; for other weights at a step that has some;
  /// for a step that is past, here or at a later restore; after the first next() for records that
  /// exist once, and in a cluster.
  void set_weights(const std::vector<double>& weights,
                   std::optional<std::uint64_t> from = std::nullopt);

  /// Writes this rank's part of "resume after this batch" to `directory`, in the background.
  /// Errors of this save come with the next save() or next(); the last one's with wait_saved(), or,
  /// where nobody calls that, in a notice when the job is over or the loader ends. Waits only while
  /// an earlier save of this loader is waiting for its turn. Throws `errc::invalid_argument` for a
  /// batch of another loader.
  void save(const std::string& directory, const batch& after);
  /// Saves the present position: after the last batch that next() gave.
  void save(const std::string& directory);
  /// Waits for saves in progress and throws their error. In a cluster: until all ranks have saved
  /// there too, some rank has passed that place without saving, or newer sets are stored.
  void wait_saved();
  /// In a cluster, after the last batch: waits until all ranks have had theirs and all sets are
  /// stored; throws as next() does, also `errc::regrouped`: then there are batches again. What is
  /// saved later is not stored. The loader's end waits as well, for a minute or so, but cannot go
  /// back. Without a cluster as wait_saved().
  void finish();

  /// This rank's part of "resume from here", as bytes.
  std::string snapshot() const;
  /// The same from after a batch, as batch::snapshot() gives it. Throws `errc::invalid_argument`
  /// for a batch of another loader.
  std::string snapshot(const batch& after) const;

  /// For snapshots that the program keeps itself, as in a checkpoint of its own, of sources that
  /// exist once and have a journal: their journals hold what the snapshot needs until it is let go,
  /// in whatever order, however often save() drops older ones. Call it before the checkpoint is
  /// written. `parts`: the snapshot of this rank; after a restart in another world, those of all
  /// ranks. A snapshot that is kept twice, as the last and as the best one, must be let go twice. A
  /// new process keeps again what its checkpoints still have, before it saves or lets go. For other
  /// pipelines nothing happens. Throws `leat::error` (bad_snapshot; mismatch: it belongs to another
  /// pipeline or journal, or what it needs is already gone).
  void keep(const std::vector<std::string>& parts);
  /// The checkpoint is gone; `parts`: at least one of those that keep() was given for it. Journals
  /// forget what neither this job nor any snapshot that is still kept, or saved, needs. Neither the
  /// end of a loader nor letting go of the only kept snapshot lets anything go: keep the new one
  /// first. Snapshots that were not kept are not affected. Throws `leat::error` (bad_snapshot;
  /// mismatch: it belongs to another pipeline).
  void let_go(const std::vector<std::string>& parts);

  /// Adds or removes workers, also in the middle of an epoch; the batches stay the same. At least
  /// 1, or `automatic`; a number ends the loader's own choice. Not for a loader made with 0
  /// workers.
  void resize_workers(std::size_t workers);

  /// What the loader did so far. Any thread, also while other members run; but not during moves and
  /// the end of the loader.
  loader_stats stats() const;

  /// Ends a next() that waits, and all later ones: they throw `errc::interrupted`, and functions of
  /// the pipeline are asked to stop (`context::cancelled`). What was handed over stays so, and
  /// snapshot() and save() still say where the loader stands: for a job that must end while it
  /// waits, even for records that may never come. Any thread, but not during moves and the end of
  /// the loader; not in a signal handler.
  void interrupt();

  /// Digest of the data that the pipeline reads, as logs and `leat index` show it: it is the same
  /// wherever the data lies, and differs for other data.
  hash128 data_digest() const;

private:
  friend class run_log;

  /// Throws in the child of a fork.
  loader_seat& seat() const;
  template <class Call>
  auto here(Call call) const;
  /// Throws also after a shutdown of the runtime.
  template <class Call>
  auto running(Call call) const;

  std::unique_ptr<loader_seat> seat_;
};

} // namespace leat
