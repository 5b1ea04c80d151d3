#pragma once

#include "messages/cluster/feed_progress.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/feeding/feed_hall.hpp"
#include "runtime/feeding/feed_station.hpp"
#include "runtime/feeding/kept_source.hpp"
#include "runtime/feeding/remote_feed.hpp"

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class shared_member;

/// The feeds that a loader reads: its pipeline with a station for each of them, and the port where
/// they connect. In a job of several processes sources that exist once are feeds, too, which the
/// process of rank 0 serves by itself. One thread. Nothing of it is there for a pipeline that has
/// none of these.
class loader_feeds : not_copied {
public:
  loader_feeds(const pipeline& data, const loader_options& options);

  const pipeline& data() const noexcept { return data_; }
  /// Listens for feeds where the options say so, if it does not yet. `place`: the rank's in its
  /// cluster, whose coordinator decides which records serve the job; null: it is alone. Throws what
  /// port_guard throws.
  void listen(const loader_options& options, const std::shared_ptr<shared_member>& place);
  /// In a cluster, with the rank that this process is now: serves its sources, or leaves that to
  /// another process.
  void serve(const loader_options& options, const std::shared_ptr<shared_member>& place);
  /// It serves some.
  bool serves() const noexcept { return serves_; }
  /// Whether the rank has had all batches: see feed_hall::finish.
  void finish(bool is_done) noexcept;
  /// "host:port" for other machines; empty: it does not listen.
  const std::string& address() const noexcept { return address_; }
  /// What each has given this rank, in data order. Any thread.
  std::vector<feed_stats> stats() const;
  /// Says the same for observers of the job, in any thread, also after this has ended; empty
  /// without feeds.
  std::function<std::vector<feed_progress>()> progress() const;

private:
  pipeline data_;
  std::vector<std::shared_ptr<feed_station>> stations_;
  std::vector<own_source> sources_;
  /// One for each of `sources_`, once this process was rank 0; otherwise none.
  std::vector<std::unique_ptr<kept_source>> kept_;
  bool serves_ = false;
  /// Ends before these: they hear that the rank has had all batches.
  std::unique_ptr<feed_hall> hall_;
  std::string address_;
};

} // namespace leat
