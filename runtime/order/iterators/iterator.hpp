#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/pass_number.hpp"
#include "runtime/order/indexed_form.hpp"
#include "runtime/sample/item.hpp"
#include "runtime/storage/ahead_threads.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

class live_source;
class sample_maker;

/// In each lap, the numbers of a lane's items begin at 0.
struct lap {
  /// The job's epoch, or under `cycle` the lane's own.
  std::uint64_t epoch = 0;
  pass_number pass = 0;

  friend bool operator==(const lap&, const lap&) = default;
  friend bool operator<(const lap& a, const lap& b) noexcept {
    return a.epoch != b.epoch ? a.epoch < b.epoch : a.pass < b.pass;
  }
};

/// The outcome of a pull.
enum class pulled : std::uint8_t {
  item,
  /// A row of the batch that has no sample. Only for the root of a pipeline.
  blank,
  /// No item follows in this lap, now or later.
  end,
  /// What it needs is not there yet, or others should run first: pull again later. The state is
  /// complete: it may be saved now.
  blocked,
};

/// What a worker found when it probed an item's content for an operator.
struct probe_result {
  std::uint64_t number = 0;
  std::string text = {};
  /// The content is bad and the policy lets it pass: it could not be judged.
  bool bad = false;

  /// Keeps the text's memory.
  void clear() noexcept {
    number = 0;
    text.clear();
    bad = false;
  }
  friend void swap(probe_result& a, probe_result& b) noexcept {
    std::swap(a.number, b.number);
    a.text.swap(b.text);
    std::swap(a.bad, b.bad);
  }
};

/// The round below an operator that probes content, in one lane.
class round_input {
public:
  /// The consumer begins a lap: what is left of earlier laps is dropped unread.
  virtual void open(std::size_t edge, const lap& g) = 0;
  /// Appends item `number` of a lap, once workers have probed it. Throws what making it threw.
  virtual pulled take(std::size_t edge, const lap& g, std::uint64_t number, item& into,
                      probe_result& found) = 0;
  /// The consumer was restored: it continues with item `number`.
  virtual void resume(std::size_t edge, const lap& g, std::uint64_t number) = 0;

protected:
  ~round_input() = default;
};

/// What the iterators of a lane share while they run. All that it points to outlives the run.
struct iterator_run {
  /// Items that may still be passed over before others should run.
  std::int64_t budget = 0;
  /// The source and number of a record that an iterator needs and that has not come yet.
  live_source* feed = nullptr;
  std::uint64_t record = 0;

  /// Unpacks what iterators will read; null: they do it themselves.
  ahead_threads* ahead = nullptr;
  /// Told which function their thread is calling.
  call_record* calls = nullptr;

  /// Marks a call of a function that may not return, as long as the result lives. `stage` must live
  /// as long as the pipeline's plan.
  call_record::scope call(const std::string& stage, std::uint64_t lane) const noexcept {
    return {*calls, stage, lane};
  }

  /// False when it is time to let others run.
  bool may_go_on() noexcept { return --budget > 0; }
};

struct weight_phase;

/// How far the last round of a lane has come in the job's epoch: what steps are counted by there.
struct lane_clock {
  /// Items that the lane gave; under `cycle` in all of its epochs.
  std::uint64_t items = 0;
  std::uint64_t items_per_step = 1;
  /// The job's own changes of weights, by rising steps; null: none.
  const std::vector<weight_phase>* changes = nullptr;

  /// That of the item that is made now.
  std::uint64_t step() const noexcept { return items / items_per_step; }
};

/// The lane that an iterator works for, and what it needs there. All that it points to outlives the
/// iterator.
struct lane_context {
  std::uint64_t lane = 0;
  std::uint64_t lanes = 1;
  round_input* inputs = nullptr;
  iterator_run* run = nullptr;
  /// Null in inner rounds, which run ahead of the steps.
  const lane_clock* clock = nullptr;
};

/// An operator at work in one lane and lap, with all operators below it: a plain iterator over
/// items, without threads and payload. One thread at a time.
class iterator : not_copied {
public:
  virtual ~iterator() = default;

  /// Appends the next item, or nothing if there is none. Throws `leat::error`; the iterator must
  /// not be used after that.
  virtual pulled pull(item& into) = 0;
  /// Writes the state; allowed at any time between pulls.
  virtual void save(item& to) const = 0;
  /// Takes over a saved state, before any other call. Throws `errc::bad_snapshot`.
  virtual void load(item_reader& from) = 0;
};

/// Lane and lap of an item, which its sample is made from.
struct item_place {
  std::uint64_t lane = 0;
  std::uint64_t lanes = 1;
  lap when = {};
};

/// What belongs to parts of an item, from `begin` to `end`.
struct restored_part {
  std::size_t begin = 0;
  std::size_t end = 0;
  payload_ptr content = {};
};
using restored_content = std::vector<restored_part>;

/// An operator that only an iterator can order, with all operators below it: begins iterators, and
/// makes samples of their items. Immutable, shared by all threads.
class iterator_form : not_copied {
public:
  virtual ~iterator_form() = default;

  virtual std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const = 0;

  /// Sets the item's fields in a sample without fields, and returns its key. Throws what sources
  /// and maps throw.
  virtual std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                             sample_maker& with) const = 0;

  virtual void append_id(item_reader& from, const item_place& at, order_cache& orders,
                         std::string& to) const = 0;

  /// Reads an item that was restored without its content, and says what to attach to it.
  virtual void recall(item_reader& from, restored_content& to) const = 0;

  /// As indexed_form::locate.
  virtual stored_objects* locate(item_reader&, std::vector<extent>&) const { return nullptr; }

  /// For errors: appends the files that a lane reads, as far as they are known.
  virtual void add_files(std::uint64_t /*lane*/, std::uint64_t /*lanes*/, const lap&,
                         std::vector<std::string>& /*to*/) const {}
};

using iterator_form_ptr = std::shared_ptr<const iterator_form>;

/// Calls `recall`, which reads a restored item, and attaches what it finds.
template <class Recall>
item recalled(item x, Recall recall) {
  item_reader from{x};
  restored_content found;
  recall(from, found);
  for (auto& part : found)
    x.attach_restored(part.begin, part.end, std::move(part.content));
  return x;
}

/// Reads an item of this form, or edge, that an operator held when its state was saved.
template <class Form>
item held_item(const Form& of, item_reader& state) {
  return recalled(state.held(), [&](auto& from, auto& found) { of.recall(from, found); });
}

/// Tells the sample which item it is; `from`, the item and `orders` must outlive its row.
void identify(sample& x, const iterator_form& from, const item_reader& what, const item_place& at,
              order_cache& orders);

/// An operator's random draws: draw k is a function of k and all arguments (docs/iterators.md).
class draws {
public:
  draws(std::string_view tag, std::uint64_t seed, std::uint64_t ordinal, const lap& g,
        std::uint64_t lane);

  std::uint64_t draw(std::uint64_t k) noexcept;
  /// A draw below n.
  std::uint64_t below(std::uint64_t n, std::uint64_t k) noexcept {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((uint128{draw(k)} * n) >> 64);
  }

private:
  /// The bytes that are hashed; the last eight are k.
  std::string bytes_;
};

} // namespace leat
