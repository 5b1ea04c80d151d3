#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/pass_number.hpp"
#include "runtime/order/sequence.hpp"
#include "runtime/sample/item.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace leat {

class once_feed;
class row_maker;

/// Numbers of a lane's items begin at 0 in each of these.
struct generation {
  /// Epoch, or under `cycle` the lane's pass.
  std::uint64_t era = 0;
  pass_number pass = 0;

  friend bool operator==(const generation&, const generation&) = default;
  friend bool operator<(const generation& a, const generation& b) noexcept {
    return a.era != b.era ? a.era < b.era : a.pass < b.pass;
  }
};

/// What a pull came to.
enum class pulled : std::uint8_t {
  item,
  /// Nothing follows in this generation; so again.
  end,
  /// What it needs is not there yet, or others should run first: pull again later. The state is
  /// whole: it may be saved now.
  blocked,
};

/// What a worker found when it looked at an item's content for an operator.
struct looked {
  std::uint64_t number = 0;
  std::string text = {};
  /// The content is bad and policy lets it pass: nobody can judge it.
  bool bad = false;

  /// Keeps the text's memory.
  void clear() noexcept {
    number = 0;
    text.clear();
    bad = false;
  }
  friend void swap(looked& a, looked& b) noexcept {
    std::swap(a.number, b.number);
    a.text.swap(b.text);
    std::swap(a.bad, b.bad);
  }
};

/// The round behind an operator that looks at content, in one lane.
class round_input {
public:
  /// The consumer begins a generation: what is left of older ones is dropped unread.
  virtual void open(std::size_t edge, const generation& g) = 0;
  /// Appends item `number` of a generation, once workers have looked at it. Throws what making it
  /// threw.
  virtual pulled take(std::size_t edge, const generation& g, std::uint64_t number, item& into,
                      looked& found) = 0;
  /// The consumer was restored: it goes on with item `number`.
  virtual void resume(std::size_t edge, const generation& g, std::uint64_t number) = 0;

protected:
  ~round_input() = default;
};

/// What all programs of a rank share while they run.
struct program_run {
  /// Items that may still be passed over before others run.
  std::int64_t budget = 0;
  /// A record that a program needs and that has not come yet.
  once_feed* feed = nullptr;
  std::uint64_t record = 0;

  /// What the thread that runs them is calling.
  std::shared_ptr<call_record> calls = std::make_shared<call_record>();

  /// A call of a function that may not return, while the result lives. `stage` lives as long as the
  /// pipeline's plan.
  call_record::scope call(const std::string& stage, std::uint64_t lane) const noexcept {
    return {*calls, stage, lane};
  }

  /// False when it is time to let others run.
  bool may_go_on() noexcept { return --budget > 0; }
};

/// Which lane a program works for, and what it needs there. What it points at outlives the program.
struct lane_context {
  std::uint64_t lane = 0;
  std::uint64_t lanes = 1;
  round_input* inputs = nullptr;
  program_run* run = nullptr;
};

/// An ordered operator at work in one lane and generation, with all below it: a plain iterator over
/// items, without threads and payload. One thread at a time.
class program {
public:
  program() = default;
  virtual ~program() = default;
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// Appends the next item; appends nothing where it gives none. Throws `leat::error`; the program
  /// is then of no further use.
  virtual pulled pull(item& into) = 0;
  /// Writes the state: at any time between pulls.
  virtual void save(item& to) const = 0;
  /// Takes over a saved state; the program is fresh. Throws `errc::bad_snapshot`.
  virtual void load(item_reader& from) = 0;
};

/// Where an item is made.
struct item_place {
  std::uint64_t lane = 0;
  std::uint64_t lanes = 1;
  generation when = {};
};

/// An operator whose order only a program can tell, with all below it: begins programs, and makes
/// samples of their items. Immutable, shared by all threads.
class item_stage {
public:
  item_stage() = default;
  virtual ~item_stage() = default;
  item_stage(const item_stage&) = delete;
  item_stage& operator=(const item_stage&) = delete;

  virtual std::unique_ptr<program> begin(const lane_context& lane, const generation& g) const = 0;

  /// Sets the item's fields in a sample without fields, and returns its birth. Throws what sources
  /// and maps throw.
  virtual std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                             row_maker& with) const = 0;

  virtual void append_id(item_reader& from, const item_place& at, order_cache& orders,
                         std::string& to) const = 0;
};

using item_stage_ptr = std::shared_ptr<const item_stage>;

/// Says in the sample which item it is; `from`, the item and `orders` must outlive its row.
void identify(sample& x, const item_stage& from, const item_reader& what, const item_place& at,
              order_cache& orders);

/// An operator's draws: draw k is a function of all these (docs/programs.md).
class draws {
public:
  draws(std::string_view tag, std::uint64_t seed, std::uint64_t ordinal, const generation& g,
        std::uint64_t lane);

  std::uint64_t draw(std::uint64_t k) noexcept;
  /// Below n.
  std::uint64_t below(std::uint64_t n, std::uint64_t k) noexcept {
    __extension__ using uint128 = unsigned __int128;
    return static_cast<std::uint64_t>((uint128{draw(k)} * n) >> 64);
  }

private:
  /// What is hashed; the last eight bytes are k.
  std::string bytes_;
};

} // namespace leat
