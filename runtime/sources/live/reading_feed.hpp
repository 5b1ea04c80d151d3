#pragma once

#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sources/live/change_listeners.hpp"
#include "runtime/sources/live/once_input.hpp"
#include "runtime/sources/live/read_ahead.hpp"
#include "runtime/sources/live/released_lanes.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <thread>

namespace leat {

/// Reads an input in a thread of its own, from the first record that is looked at, and keeps the
/// records in a store. A failure is thrown for each record that did not come because of it; those
/// that came stay good.
class reading_feed : public live_source {
public:
  reading_feed(std::shared_ptr<once_input> input, std::unique_ptr<record_store> records,
               read_ahead_limits limits = {});
  /// Waits for the thread; says so with a notice if that takes long.
  ~reading_feed() override;

  state peek(std::uint64_t number) override;
  void wait(std::uint64_t number, const std::atomic<bool>& stop) override;
  void wake() override;
  std::function<void()> on_change(std::function<void()> changed) override;
  void read(std::uint64_t number, sample& into) const override;
  void append_id(std::uint64_t number, std::string& to) const override;
  void release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) override;
  void hold_from(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) override;
  void check_holds(std::uint64_t lowest, std::uint64_t behind) const override;
  bool has_journal() const noexcept override { return records_->is_journal(); }
  source_facts facts() const override;
  std::string name() const override { return input_->name(); }

  const std::shared_ptr<once_input>& input() const noexcept { return input_; }

private:
  void want(std::uint64_t number) LEAT_REQUIRES(mutex_);

  void run();
  /// The reader to read with; null if nothing more is to be read.
  record_reader* wait_until_wanted();
  bool read_some(record_reader& reader);
  void publish(const record_reader::result& got, std::exception_ptr failure = {});

  const std::shared_ptr<once_input> input_;
  const std::unique_ptr<record_store> records_;
  change_listeners listeners_;

  /// The thread, and its condition variables.
  struct helper {
    /// Something is wanted, or the feed is being destroyed.
    condition_variable wanted;
    /// Records came, or will not come, or the thread has ended.
    condition_variable came;
    std::thread thread;
    std::optional<fork_hazard> lives;
  };

  process_mark home_;
  mutable mutex mutex_;
  std::unique_ptr<helper> helper_ = std::make_unique<helper>();
  /// Records below it are released; those from `next_` on are still to come.
  std::uint64_t first_ LEAT_GUARDED_BY(mutex_);
  released_lanes released_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t next_ LEAT_GUARDED_BY(mutex_);
  read_ahead ahead_ LEAT_GUARDED_BY(mutex_);
  struct reading {
    /// Set when the thread begins; from then on only the thread uses it.
    std::unique_ptr<record_reader> reader;
    bool has_ended = false;
    std::exception_ptr failure;
    bool is_stopping = false;
    /// The thread has ended.
    bool has_run = false;
  };
  reading reading_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
