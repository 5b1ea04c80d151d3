#pragma once

#include <leat/error.hpp>
#include <leat/loader.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A program's own loader, as a set of functions. All are called in the thread that calls the
/// `own_loader`; their exceptions come out of it.
template <class T>
struct own_loader_functions {
  /// Recorded in snapshots, as "photos@1": another version is another loader.
  std::string name;
  /// Begins an epoch at its first batch, also from the middle of another one.
  std::function<void(std::uint64_t epoch)> begin_epoch;
  /// The epoch's next batch; nothing after its last.
  std::function<std::optional<T>()> next;
  /// Optional, both or none: the position after the last batch that `next` gave, as bytes, and the
  /// way back to it after a `begin_epoch` of that epoch. Without them a restore runs through the
  /// epoch's earlier batches.
  std::function<std::string()> save = {};
  std::function<void(const std::string& place)> load = {};
};

struct own_loader_options {
  /// This process among `world_size` trainer processes, each with an own loader: its snapshots are
  /// one part of a set.
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// The job's length, counted from epoch 0, also after a restore.
  std::uint64_t epochs = 1;
  /// Complete snapshot sets kept by save().
  std::uint64_t keep = 3;
};

/// A batch of an own loader.
template <class T>
struct adapted_batch {
  T content;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  bool end_of_epoch = false;
};

/// Where an own loader stands: the next batch.
struct own_loader_place {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  /// What the own loader saved there; empty at the beginning of an epoch, and without `save`.
  std::optional<std::string> saved = {};
};

/// Snapshots of own loaders: files and bytes as those of `loader`. Not for direct use.
class LEAT_API own_loader_snapshots {
public:
  /// Throws `errc::invalid_argument`.
  own_loader_snapshots(std::string name, const own_loader_options& options);

  std::string encode(const own_loader_place& at) const;
  own_loader_place decode(const std::vector<std::string>& parts) const;
  void save(const std::string& directory, const own_loader_place& at) const;
  std::optional<own_loader_place> newest(const std::string& directory) const;
  [[noreturn]] static void refuse(const char* stage, std::string got, std::string needed);

private:
  std::string name_;
  own_loader_options options_;
};

/// Gives a program's own loader what `leat::loader` has: snapshots that resume after any batch,
/// batches that are skipped, and the end of an epoch marked on its last batch. Reads one batch
/// ahead, to know the end. It is as exact as the own loader, whose order must be a function of the
/// epoch (and of the position that it saved). World sizes cannot change: only the own loader could
/// divide its state. One thread at a time.
template <class T>
class own_loader {
public:
  /// Throws `errc::invalid_argument`: a function is missing, rank, world size.
  own_loader(own_loader_functions<T> from, own_loader_options options)
      : from_(std::move(from)), options_(options), snapshots_(from_.name, options) {
    if (!from_.begin_epoch || !from_.next)
      snapshots_.refuse("own_loader", "no begin_epoch or no next", "both functions");
    if (!from_.save != !from_.load)
      snapshots_.refuse("own_loader", "one of save and load", "both or none");
  }

  /// The next batch, or nothing after the last one. Throws `errc::empty_epoch`.
  std::optional<adapted_batch<T>> next() {
    if (at_.epoch >= options_.epochs)
      return std::nullopt;
    if (!fetch())
      throw error(errc::empty_epoch, {.stage = "own_loader",
                                      .got = "no batch in epoch " + std::to_string(at_.epoch),
                                      .needed = "at least one"});
    adapted_batch<T> result{std::move(*ahead_), at_.epoch, at_.step, at_.global_step};
    pass();
    result.end_of_epoch = at_.epoch != result.epoch;
    return result;
  }

  /// The position where next() continues.
  resume_point position() const { return {at_.epoch, at_.step, at_.global_step, {}}; }

  /// The encoded snapshot "resume after the last batch".
  std::string snapshot() const { return snapshots_.encode(at_); }
  /// Writes that snapshot to `directory` as this rank's part. Throws `errc::io`.
  void save(const std::string& directory) const { snapshots_.save(directory, at_); }

  /// Resumes after the newest complete set; without one, starts at the beginning (and then returns
  /// nothing). Before the first next(). Throws `errc::bad_snapshot`; `errc::mismatch` for another
  /// own loader.
  std::optional<resume_point> restore(const std::string& directory) {
    check_not_begun("restore");
    auto found = snapshots_.newest(directory);
    if (!found)
      return std::nullopt;
    at_ = std::move(*found);
    return position();
  }
  /// Restores from the bytes of snapshot(), of this rank or of all ranks.
  resume_point restore_parts(const std::vector<std::string>& parts) {
    check_not_begun("restore");
    at_ = snapshots_.decode(parts);
    return position();
  }

  /// Leaves out the next n batches, also across ends of epochs, by taking them from the own loader.
  /// Before the first next(), after a restore or without one.
  void skip_first_batches(std::uint64_t n) {
    check_not_begun("skip_first_batches");
    for (; n > 0 && at_.epoch < options_.epochs && fetch(); --n)
      pass();
  }

  /// Leaves out the rest of the epoch.
  void abandon_epoch() {
    if (at_.step == 0)
      return;
    ahead_.reset();
    begin(at_.epoch + 1);
  }

private:
  void check_not_begun(const char* stage) const {
    if (is_open_)
      snapshots_.refuse(stage, "a loader that has begun", "a new one");
  }

  void begin(std::uint64_t epoch) {
    at_ = {epoch, 0, at_.global_step, std::nullopt};
    is_open_ = true;
    if (epoch < options_.epochs)
      from_.begin_epoch(epoch);
  }

  /// Takes the batch at the position into `ahead_`. False if the epoch has none there.
  bool fetch() {
    if (ahead_)
      return true;
    if (!is_open_ && !reopen())
      return false;
    return (ahead_ = from_.next()).has_value();
  }

  /// Reopens the epoch, after a restore or at the very beginning.
  bool reopen() {
    is_open_ = true;
    from_.begin_epoch(at_.epoch);
    if (at_.saved && from_.load) {
      from_.load(*at_.saved);
      return true;
    }
    for (std::uint64_t i = 0; i < at_.step; ++i)
      if (!from_.next())
        snapshots_.refuse("own_loader",
                          std::to_string(i) + " batches in epoch " + std::to_string(at_.epoch),
                          "more than " + std::to_string(at_.step) + ", as the snapshot had");
    return true;
  }

  /// The batch is handed over or left out: the position is after it, and what follows is known.
  void pass() {
    ++at_.step;
    ++at_.global_step;
    at_.saved.reset();
    if (from_.save)
      at_.saved = from_.save(); // before the own loader continues
    ahead_ = from_.next();
    if (!ahead_)
      begin(at_.epoch + 1);
  }

  own_loader_functions<T> from_;
  own_loader_options options_;
  own_loader_snapshots snapshots_;
  own_loader_place at_;
  bool is_open_ = false;
  /// The batch at the position, if it was taken already.
  std::optional<T> ahead_;
};

} // namespace leat
