#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/lane_state.hpp"
#include "runtime/order/ring.hpp"
#include "runtime/order/sample_graph.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

class lane_round;

/// An item of a round that waits for its consumer.
struct round_item {
  lap when;
  std::uint64_t number = 0;
  bool is_end = false;
  /// See pulled::blank.
  bool is_blank = false;
  item what;
  /// In inner rounds: whether a worker has it, or has probed it.
  enum class phase : std::uint8_t { waiting, dealt, done };
  phase state = phase::waiting;
  probe_result found = {};
  std::shared_ptr<const error> failure = {};

  /// Makes it like a new one; keeps memory.
  void clear() noexcept {
    when = {};
    number = 0;
    is_end = is_blank = false;
    what.clear();
    state = phase::waiting;
    found.clear();
    failure = nullptr;
  }
};

/// An item that a worker should probe. Used by whoever has the lane.
struct probe_request {
  lane_round* round = nullptr;
  /// The edge at which the round ends.
  std::size_t edge = 0;
  lap when;
  std::uint64_t number = 0;
};

/// How far rounds run ahead, and what the rounds of a lane share.
struct round_limits {
  /// Items of an inner round that are in flight in each lane: at least so many, 1 or more, and at
  /// most `wide_window`, as long as the samples that are kept with them have `kept_bytes`.
  std::size_t window = 2;
  std::size_t wide_window = 8;
  std::size_t kept_bytes = 0;
  /// Items of the last round that wait in each lane, at first: see lane_round::run_ahead. Never
  /// more wait that carry content.
  std::size_t ahead = 4;
  /// Number of epochs; iterators do not run beyond them.
  std::uint64_t epochs = UINT64_MAX;
  /// The last round begins again and again: if it gave nothing in an epoch, that would never end.
  bool is_endless = false;
  /// Items of a lane per step, and the job's changes of weights, by rising steps; null: none.
  std::uint64_t items_per_step = 1;
  const std::vector<weight_phase>* changes = nullptr;
  iterator_run* run = nullptr;
  /// Items of inner rounds that no worker has got yet, in the order in which they came.
  std::deque<probe_request>* requests = nullptr;
};

/// One round in one lane, with the rounds below it: runs its iterator ahead of the consumer, keeps
/// the items that wait, and takes a base from time to time. A plain value of one thread. It cannot
/// be moved: iterators point to it.
///
/// Large because a round is its consumer's input and the consumer of its own inputs, and both ends
/// move together.
class lane_round final : public round_input, not_copied {
public:
  /// `edge`: the edge at which the round ends; none for the last round.
  lane_round(const sample_graph& plan, std::optional<std::size_t> edge, std::uint64_t lane,
             std::uint64_t lanes, const round_limits& limits);

  std::optional<std::size_t> edge() const noexcept { return edge_; }
  std::uint64_t lane() const noexcept { return context_.lane; }
  /// The round of this lane that ends at an edge: this one or one below it; null if there is none.
  lane_round* find_round(std::size_t edge) noexcept;

  /// The consumer begins a lap: what is left of earlier laps is dropped, unread.
  void begin(const lap& g);
  /// Continues after a mark. Throws `errc::bad_snapshot`.
  void load(const round_mark& mark);
  void load(const lane_state& state);

  /// Runs this round and those below it as far as limits and contents allow. False if nothing
  /// moved.
  bool run();
  /// As many items wait as may.
  bool is_full() const noexcept {
    return items_.full() || with_content_ >= limits_.ahead
           || (edge_ && items_.size() >= limits_.window
               && items_.size() >= limits_.kept_bytes / usual_bytes_);
  }
  /// The iterator threw: no items follow those that wait.
  const std::optional<error>& failure() const noexcept { return failure_; }
  /// As if the iterator had thrown this.
  void fail(error problem) { failure_ = std::move(problem); }

  /// For errors: the files that this lane reads, as far as they are known.
  void add_files(std::vector<std::string>& to) const;

  // For the last round:
  const ring<round_item>& items() const noexcept { return items_; }
  /// Hands over the first of items(), into `what` and `when`. Bases of earlier marks stay valid.
  void take_front(item& what, lap& when);
  /// Something has come or gone since the last run().
  bool is_stale() const noexcept { return is_stale_; }
  void make_stale() noexcept { is_stale_ = true; }
  /// From now on this many items without content may wait, if that is more than before.
  void run_ahead(std::size_t items) {
    items_.grow(items);
    make_stale();
  }
  /// Items of a lap that were taken.
  std::uint64_t taken(const lap& g) const noexcept { return taken_when_ == g ? taken_ : 0; }
  /// The state from which it continues after the items that were taken.
  lane_state state() const;

  // For inner rounds:
  /// The item, if it still waits to be probed: it then counts as dealt.
  round_item* deal(const lap& g, std::uint64_t number);
  /// The item, if it still waits for its consumer.
  round_item* find(const lap& g, std::uint64_t number);
  /// An item was probed, and a sample of this many bytes kept with it.
  void note_kept(std::size_t bytes) noexcept {
    usual_bytes_ =
        std::max(bytes, usual_bytes_ == unknown_bytes ? 1 : usual_bytes_ - usual_bytes_ / 8);
  }
  /// Bytes of a sample that is kept: of the last ones, rather more. Not 0.
  std::size_t usual_bytes() const noexcept { return usual_bytes_; }

  // For the consumer:
  pulled consume(const lap& g, std::uint64_t number, item& into, probe_result& found);
  round_mark mark_at(const lap& g, std::uint64_t consumed) const;

  // For its own iterator, as the consumer of its inputs:
  void open(std::size_t edge, const lap& g) override;
  pulled take(std::size_t edge, const lap& g, std::uint64_t number, item& into,
              probe_result& found) override;
  void resume(std::size_t edge, const lap& g, std::uint64_t number) override;

private:
  static constexpr std::size_t unknown_bytes = SIZE_MAX;

  /// A round below this one, and what this one has consumed of it.
  struct input {
    std::unique_ptr<lane_round> round;
    bool opened = false;
    /// The restored iterator continues with this input.
    bool resumed = false;
    lap when = {};
    std::uint64_t consumed = 0;
  };

  input& input_of(std::size_t edge);
  /// Begins a lap of the iterator; the lane gave so many items before it.
  void start(const lap& g, std::uint64_t before);
  void load_inputs(const lane_base& base);
  void check_inputs(const lane_base& base) const;
  [[noreturn]] void refuse_empty_lane() const;
  [[noreturn]] void refuse_not_there(const lap& g, std::uint64_t number) const;
  const iterator_form& form() const;
  lap after(const lap& g) const;
  /// Does one pull. False if it gave nothing.
  bool step();
  void keep(pulled result);
  /// An item of the last round has come, or goes.
  bool is_counted(const round_item& x) const noexcept { return !edge_ && x.what.has_payloads(); }
  void take_base(bool is_within_item);
  void forget_bases(const lap& g, std::uint64_t consumed);

  const sample_graph& plan_;
  std::optional<std::size_t> edge_;
  round_limits limits_;
  lane_context context_;
  std::vector<input> inputs_;

  bool begun_ = false;
  lap when_;
  /// Items of the lap that the iterator has given.
  std::uint64_t given_ = 0;
  /// What the iterator of a last round counts steps by.
  lane_clock clock_;
  std::unique_ptr<iterator> iterator_;
  item next_;
  ring<round_item> items_;
  /// For the last round: how many of `items_` carry content.
  std::size_t with_content_ = 0;
  bool is_stale_ = true;
  /// See usual_bytes().
  std::size_t usual_bytes_;
  std::optional<error> failure_;
  /// Items before this lap and number were consumed before a restore: the iterator gives them once
  /// more.
  lap skip_when_;
  std::uint64_t skip_below_ = 0;
  /// The place after the item that was taken last.
  lap taken_when_;
  std::uint64_t taken_ = 0;
  /// Items that were taken of the epoch, ends not counted, and of them those before the lap.
  std::uint64_t taken_items_ = 0;
  std::uint64_t taken_before_ = 0;
  record_uses used_;

  /// In rising order; the first one is at or before the consumer's place.
  std::deque<base_ptr> bases_;
  /// Items given and consumed since the newest base.
  std::uint64_t work_ = 0;
  std::uint64_t work_for_base_;
};

} // namespace leat
