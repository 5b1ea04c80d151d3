#pragma once

#include "demos/command/log_line.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leat::command {

/// What can be wrong with a job's log.
enum class fault_kind : std::uint8_t {
  /// A row of the order was never delivered.
  lost,
  /// A position was delivered more than once in an epoch, or an id more often than the order has
  /// it.
  repeated,
  /// An id was delivered at another position, or in another step, than the order says.
  moved,
  /// A line's digest does not fit its rows, or a row that was handed over again is not the same.
  changed,
  /// An id that the order does not have.
  extra,
};

inline constexpr std::size_t num_fault_kinds = 5;

std::string_view to_string(fault_kind x) noexcept;

/// One thing that is wrong.
struct finding {
  fault_kind kind = fault_kind::lost;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Empty where it is about a whole line.
  std::optional<std::uint64_t> position = {};
  std::string id = {};
  std::string text = {};
};

struct audit_report {
  /// By fault_kind.
  std::array<std::uint64_t, num_fault_kinds> counts{};
  /// The first few of each kind.
  std::vector<finding> findings;
  /// Rows whose sample was bad; they are no fault.
  std::uint64_t bad = 0;
  /// Global batches that count, rows of them, and attempts that made them.
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::uint64_t attempts = 0;
  /// Sum over the epochs of the order of all digests that count.
  hash128 digest = {};

  std::uint64_t count(fault_kind x) const noexcept { return counts[static_cast<std::size_t>(x)]; }
  bool clean() const noexcept { return counts == decltype(counts){}; }
};

/// Judges what the attempts of a job delivered by the order that it should have had.
///
/// A step of an attempt is complete when all its ranks have a line; of each step the last complete
/// attempt counts. Where none is complete, ranks of different attempts of one world size make up a
/// step: processes that do not wait for each other leave such sets of snapshots when they die. What
/// is handed over again by a later attempt must be the same, and is not repeated.
/// Memory: some 100 bytes a row.
class audit {
public:
  /// Finds kept of each kind.
  static constexpr std::size_t listed = 10;

  /// A line of the order; those of an epoch in rising order without a gap.
  /// Throws `std::runtime_error` when it does not go on, or its digest is wrong.
  void expect(const batch_line& line);

  /// A line of the current attempt, in any order.
  void deliver(const batch_line& line);

  /// Lines that follow belong to a later attempt.
  void end_attempt();

  /// Ends the current attempt and judges all complete steps. Call it once, last.
  audit_report report();

private:
  /// A text's number; equal ids have equal numbers.
  using id_number = std::uint32_t;
  static constexpr id_number no_id = UINT32_MAX;

  struct row {
    std::uint64_t position = 0;
    /// What the order has here according to the log, and what was delivered: another one where
    /// it was substituted, `no_id` where it was masked.
    id_number due = no_id;
    id_number delivered = no_id;
    bool bad = false;
    hash128 pixels = {};
  };
  struct rank_rows {
    std::vector<row> rows;
    hash128 digest = {};
  };
  struct step_rows {
    std::uint64_t world_size = 1;
    std::map<std::uint64_t, rank_rows> ranks;

    bool complete() const noexcept { return ranks.size() == world_size; }
  };
  struct expected_row {
    id_number id = no_id;
    std::uint64_t step = 0;
  };
  using step_key = std::pair<std::uint64_t, std::uint64_t>;
  struct epoch_judge;

  id_number number_of(const std::string& id);
  const std::string& id_of(id_number x) const;
  std::vector<row> rows_of(const batch_line& line);
  void apply_bad(const batch_line& line, std::vector<row>& rows);
  void complete_from_parts(const step_key& key, step_rows& step);
  void compare_with_earlier(const step_key& key, const row& now);
  void add(fault_kind kind, const step_key& at, std::optional<std::uint64_t> position,
           std::string id, std::string text);

  std::unordered_map<std::string, id_number> numbers_;
  std::vector<const std::string*> ids_;
  /// By epoch; index is the position.
  std::map<std::uint64_t, std::vector<expected_row>> expected_;
  std::map<step_key, step_rows> current_;
  /// Steps that no attempt has completed yet: the last of each rank, in the newest world size.
  std::map<step_key, step_rows> incomplete_;
  /// Steps that count.
  std::map<step_key, step_rows> counted_;
  /// Last delivery of each position in earlier attempts, complete or not, by epoch.
  std::map<std::uint64_t, std::unordered_map<std::uint64_t, row>> earlier_;
  audit_report report_;
};

} // namespace leat::command
