#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/order/lane_round.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/mix_weights.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"
#include "runtime/storage/ahead_threads.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

namespace leat {

/// What the lanes of a rank have in common; it outlives all of them.
struct lane_surroundings {
  std::shared_ptr<const sample_graph> plan;
  /// The job's changes of a mix's weights; may be empty.
  weight_phases changes = {};
  /// Told what iterators call where they run in the thread of the order.
  std::shared_ptr<call_record> calls = {};
  /// Unpacks what iterators will read; null: they do it themselves.
  std::unique_ptr<ahead_threads> ahead = {};
};

/// One lane of a rank: its iterators, and the items that they want to have probed. It knows no
/// other lane. One thread at a time, which may be another one in each turn.
class rank_lane : not_copied {
public:
  /// `limits`: how far it runs ahead; `run`, `requests` and `changes` are set here.
  rank_lane(std::shared_ptr<const lane_surroundings> of, std::uint64_t lane, std::uint64_t lanes,
            round_limits limits);

  /// The last round.
  lane_round& round() noexcept { return round_; }
  const lane_round& round() const noexcept { return round_; }

  /// Items that are passed over before others have their turn: a few milliseconds.
  static constexpr std::int64_t items_in_one_go = 1 << 16;

  /// Runs the iterators as far as limits and contents allow, or until `items` items are passed
  /// over: it is then stale again. `calls` is told which function runs. Returns how many of the
  /// items are left.
  std::int64_t run(std::int64_t items, call_record& calls);
  /// A run would do something. `with_probes`: whoever runs it probes its items, too.
  bool wants_to_run(bool with_probes) const noexcept {
    return round_.is_stale() || (with_probes && num_requests() > 0 && !round_.is_full());
  }
  /// The source whose next record the last run lacked; null if it lacked none.
  live_source* feed() const noexcept { return run_.feed; }
  /// That record's number.
  std::uint64_t record() const noexcept { return run_.record; }

  /// The next item that someone should probe, into `to`, whose memory is used again. False if none
  /// waits.
  bool take_request(row_request& to);
  /// Takes over what a probe found.
  void put(const row_request& asked, row_result& found);

  // Where the lane runs:
  /// Items that wait to be probed, one that has begun included.
  std::size_t num_requests() const noexcept {
    return requests_.size() + (has_begun_probe_ ? 1 : 0);
  }
  /// The next item to probe, until end_probe(): also for another worker, if one dies over it. Null
  /// if none waits.
  const row_request* begin_probe();
  void end_probe(row_result& found);
  /// Position of the item whose probe has begun; the lane's number if none has.
  std::uint64_t position() const noexcept {
    return has_begun_probe_ ? probed_.position : round_.lane();
  }
  /// The probe that has begun failed, or, if none has, the run: no items follow those that wait.
  void fail(const error& problem);
  /// Bytes of a sample that is kept with the item that was requested last, as far as is known.
  std::size_t usual_bytes() const noexcept { return usual_bytes_; }

private:
  std::shared_ptr<const lane_surroundings> of_;
  std::uint64_t lanes_;
  iterator_run run_;
  std::deque<probe_request> requests_;
  lane_round round_;
  std::size_t usual_bytes_ = 0;
  row_request probed_;
  bool has_begun_probe_ = false;
};

} // namespace leat
