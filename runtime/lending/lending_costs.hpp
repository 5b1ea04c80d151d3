#pragma once

#include "runtime/lending/recent_times.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// What helpers are sent of a row. What comes back is the finished row, or what a probe found.
enum class lent_form : std::uint8_t {
  /// Which row it is: they have the data.
  items,
  /// Also the records that it is made of, which the rank reads.
  records,
};

/// Rows that were made, and how long workers took for them, in nanoseconds.
struct rows_made {
  std::uint64_t rows = 0;
  std::int64_t time = 0;
};

/// The same since the job began, of rows of batches and of probes.
struct made_here {
  rows_made batches = {};
  rows_made probes = {};
};

/// A row's share of what a frame of several cost, by its bytes.
inline std::int64_t share_of(std::int64_t cost, std::size_t bytes, std::size_t all) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(cost) * static_cast<double>(bytes)
                                   / static_cast<double>(all > 0 ? all : 1));
}

/// Which rows are to be lent: none whose lending costs this process more than half of what making
/// them does, and such rows again once it costs less than two fifths of that, so that noise around
/// the limit does not change the choice to and fro. Costs are medians of what was measured lately;
/// as long as too little was measured, all rows are lent, and later a few now and then, since costs
/// change. A plain value of one thread at a time; times are in nanoseconds.
class lending_costs {
public:
  /// What workers of this process have made so far. `is_due`: it is time to ask for that.
  void made(const made_here& so_far);
  bool is_due(std::int64_t now) noexcept;
  /// How long a row of a batch takes here, as far as was measured; 0: not known.
  std::int64_t making() const { return batches_.making.median(); }
  /// Choosing, reading and writing a row of an offer took so much of a processor.
  void sent(lent_form form, std::int64_t time) { sending_[index_of(form)].add(time); }
  /// Receiving a row took so much of a processor.
  void received(bool is_batch, std::int64_t time) { kind_of(is_batch).receiving.add(time); }

  struct choice {
    bool batches = true;
    bool probes = true;
    /// They are not worth it, as far as is known: a few of them are lent to find out.
    bool is_trial = false;
  };
  choice choose(lent_form form, std::int64_t now);
  /// Rows were lent as a trial.
  void tried(lent_form form, std::int64_t now) {
    next_trial_[index_of(form)] = now + between_trials;
  }
  static constexpr std::int64_t between_trials = 10'000'000'000;
  static constexpr std::size_t rows_of_trial = 4;

  /// Why rows are not lent, as far as it was asked for; empty if they are.
  std::string reason() const;
  /// The first of these reasons, for users: given once, else empty.
  std::string take_news();

private:
  static constexpr std::size_t kept = 15;

  struct kind_costs {
    rows_made seen = {};
    recent_times making{kept};
    recent_times receiving{kept};
    /// By form.
    std::array<bool, 2> is_refused{};
  };
  struct refusal {
    bool is_batch = true;
    std::int64_t cost = 0;
    std::int64_t making = 0;

    bool costs_too_much() const noexcept { return 2 * cost > making; }
    bool costs_much() const noexcept { return 5 * cost >= 2 * making; }
  };

  static std::size_t index_of(lent_form x) noexcept { return static_cast<std::size_t>(x); }
  kind_costs& kind_of(bool is_batch) noexcept { return is_batch ? batches_ : probes_; }
  std::optional<refusal> refused(lent_form form, bool is_batch);

  kind_costs batches_;
  kind_costs probes_;
  // By form.
  std::array<recent_times, 2> sending_{recent_times{kept}, recent_times{kept}};
  std::array<std::int64_t, 2> next_trial_{};
  std::array<std::optional<refusal>, 2> refusals_{};
  std::int64_t next_look_ = 0;
  bool has_told_ = false;
};

} // namespace leat
