#pragma once

#include "runtime/base/ring.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/lane_state.hpp"
#include "runtime/order/sample_graph.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

class lane_round;

/// An item of a round that waits for its consumer.
struct round_item {
  lap when;
  std::uint64_t number = 0;
  bool is_end = false;
  item what;
  /// Inner rounds: whether a worker has it or has looked at it.
  enum class phase : std::uint8_t { waiting, dealt, done };
  phase state = phase::waiting;
  probe_result found = {};
  std::shared_ptr<const error> failure = {};

  /// As a new one; keeps memory.
  void clear() noexcept {
    when = {};
    number = 0;
    is_end = false;
    what.clear();
    state = phase::waiting;
    found.clear();
    failure = nullptr;
  }
};

/// An item that a worker shall look at. For the thread of the iterators alone.
struct probe_request {
  lane_round* round = nullptr;
  /// The one that the round ends at.
  std::size_t edge = 0;
  lap when;
  std::uint64_t number = 0;
};

/// How far rounds run ahead, and what all lanes of a rank share.
struct round_limits {
  /// Items of an inner round that are under way in each lane, at least 1; where their samples stay
  /// with them, and where they do not.
  std::size_t window = 2;
  std::size_t wide_window = 8;
  /// Items of the last round that wait in each lane.
  std::size_t ahead = 4;
  /// Epochs that exist; iterators do not run beyond.
  std::uint64_t epochs = UINT64_MAX;
  /// The last round begins again and again: an epoch of which it gives nothing would go on for
  /// ever.
  bool is_endless = false;
  iterator_run* run = nullptr;
  /// Items of inner rounds that nobody looks at yet, in the order in which they came.
  std::deque<probe_request>* requests = nullptr;
};

/// One round in one lane, with the rounds behind it: runs its iterator ahead of the consumer, keeps
/// the items that wait, and from time to time a base. A plain value of one thread.
///
/// Not moved: iterators point at it.
/// Large because a round is its consumer's input and the consumer of its own inputs, and both ends
/// move together.
class lane_round final : public round_input {
public:
  /// `edge`: the one that the round ends at; none: the last round.
  lane_round(const sample_graph& plan, std::optional<std::size_t> edge, std::uint64_t lane,
             std::uint64_t lanes, const round_limits& limits);
  lane_round(const lane_round&) = delete;
  lane_round& operator=(const lane_round&) = delete;

  std::optional<std::size_t> edge() const noexcept { return edge_; }
  std::uint64_t lane() const noexcept { return context_.lane; }
  /// The round of this lane that ends at an edge, this one or one behind it; null: none does.
  lane_round* find_round(std::size_t edge) noexcept;

  /// The consumer begins a lap: what is left of older ones is dropped, unread.
  void begin(const lap& g);
  /// Goes on after a mark. Throws `errc::bad_snapshot`.
  void load(const round_mark& mark);
  void load(const lane_state& state);

  /// Runs this round and those behind it as far as limits and contents allow. False when nothing
  /// moved.
  bool run();
  /// The iterator threw: behind the items that wait there are no more.
  const std::optional<error>& failure() const noexcept { return failure_; }

  // Of the last round.
  const ring<round_item>& items() const noexcept { return items_; }
  /// Hands over the first of items(), into `what` and `when`. Bases of earlier marks stay good.
  void take_front(item& what, lap& when);
  /// Something has come or gone since the last run().
  bool is_stale() const noexcept { return is_stale_; }
  void make_stale() noexcept { is_stale_ = true; }
  /// Where it goes on after the items that were taken.
  lane_state state() const;

  // Of inner rounds.
  /// The item, if it still waits to be looked at: it then counts as dealt.
  round_item* deal(const lap& g, std::uint64_t number);
  /// The item, if it still waits for its consumer.
  round_item* find(const lap& g, std::uint64_t number);

  // As the input of a consumer.
  pulled consume(const lap& g, std::uint64_t number, item& into, probe_result& found);
  round_mark mark_at(const lap& g, std::uint64_t consumed) const;

  // As the consumer of inputs.
  void open(std::size_t edge, const lap& g) override;
  pulled take(std::size_t edge, const lap& g, std::uint64_t number, item& into,
              probe_result& found) override;
  void resume(std::size_t edge, const lap& g, std::uint64_t number) override;

private:
  /// A round behind this one, and what this one has consumed of it.
  struct input {
    std::unique_ptr<lane_round> round;
    bool opened = false;
    /// The iterator that was restored goes on with it.
    bool resumed = false;
    lap when = {};
    std::uint64_t consumed = 0;
  };

  input& input_of(std::size_t edge);
  /// The iterator begins a lap.
  void start(const lap& g);
  void load_inputs(const lane_base& base);
  void check_inputs(const lane_base& base) const;
  [[noreturn]] void refuse_not_there(const lap& g, std::uint64_t number) const;
  const iterator_form& form() const;
  lap after(const lap& g) const;
  /// One pull. False when nothing came of it.
  bool step();
  void keep(pulled result);
  void take_base();
  void forget_bases(const lap& g, std::uint64_t consumed);

  const sample_graph& plan_;
  std::optional<std::size_t> edge_;
  round_limits limits_;
  lane_context context_;
  std::vector<input> inputs_;

  bool begun_ = false;
  lap when_;
  /// Items of the lap that the iterator gave.
  std::uint64_t given_ = 0;
  std::unique_ptr<iterator> iterator_;
  item next_;
  ring<round_item> items_;
  bool is_stale_ = true;
  std::optional<error> failure_;
  /// Items below these were consumed before a restore: the iterator gives them once more.
  lap skip_when_;
  std::uint64_t skip_below_ = 0;
  /// Behind what was taken last.
  lap taken_when_;
  std::uint64_t taken_ = 0;
  record_uses used_;

  /// Rising; the first one is at or before what the consumer has.
  std::deque<base_ptr> bases_;
  /// Items given and consumed since the newest base.
  std::uint64_t work_ = 0;
  std::uint64_t work_for_base_;
};

} // namespace leat
