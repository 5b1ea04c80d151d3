#pragma once

#include "tools/leat/verify/job_history.hpp"
#include "tools/leat/verify/log_line.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace leat::command {

/// What can be wrong with a job's log.
enum class fault_kind : std::uint8_t {
  /// A row of the order was never delivered.
  lost,
  /// A position was delivered more than once in an epoch, or an id more often than the order
  /// contains it.
  repeated,
  /// An id was delivered at another position, in another step or on another rank than in the order,
  /// or a step was delivered after a later one.
  moved,
  /// A line's digest does not match its rows, or a row that was handed over again is not the same.
  changed,
  /// An id that the order does not contain.
  extra,
};

inline constexpr std::size_t num_fault_kinds = 5;

std::string_view to_string(fault_kind x) noexcept;

/// One thing that is wrong.
struct finding {
  fault_kind kind = fault_kind::lost;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Nothing if it is about a whole line.
  std::optional<std::uint64_t> position = {};
  std::string id = {};
  std::string text = {};
};

struct audit_report {
  /// Indexed by fault_kind.
  std::array<std::uint64_t, num_fault_kinds> counts{};
  /// The first few of each kind.
  std::vector<finding> findings;
  /// Rows whose sample was bad, which is not a fault.
  std::uint64_t bad = 0;
  /// Global batches that count, their rows, and the attempts of the job.
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::uint64_t attempts = 0;
  /// Sum of all digests that count.
  hash128 digest = {};

  std::uint64_t count(fault_kind x) const noexcept { return counts[static_cast<std::size_t>(x)]; }
  bool clean() const noexcept { return counts == decltype(counts){}; }
};

/// Checks what the attempts of a job delivered against the order that it should have had.
///
/// What counts is what the weights at the end of the job have seen (job_history.hpp): an attempt
/// discards what earlier ones handed over from its first step on. A step needs all its ranks. What
/// is handed over again must be the same, and does not count as repeated. Memory: about 100 bytes
/// per row.
class audit {
public:
  /// How many findings of each kind are kept.
  static constexpr std::size_t listed = 10;

  /// Adds a line of the order; the lines of an epoch come in rising order without a gap. Throws
  /// `std::runtime_error` if it does not follow the previous one, or its digest is wrong.
  void expect(const batch_line& line);

  /// Begins a group of logs that are later than all before.
  void begin_logs();
  /// Begins a log of one process, or of several one after the other. It covers the same time as the
  /// other logs since `begin_logs`: which attempts belong together is found by their first steps.
  void begin_log();
  /// Begins an attempt: the lines that follow are of one start of the process. An attempt without a
  /// header begins with the first step that it has.
  void begin_attempt(const attempt_start& header);
  /// Adds a line of the attempt, in the order in which the ranks got their batches.
  void deliver(const batch_line& line);

  /// Judges everything. Call it once, last.
  audit_report report();

private:
  struct expected_row {
    id_number id = no_id;
    std::uint64_t step = 0;
  };
  struct epoch_judge;

  id_number number_of(const std::string& id);
  const std::string& id_of(id_number x) const;
  std::vector<delivered_row> rows_of(const batch_line& line);
  void apply_bad(const batch_line& line, std::vector<delivered_row>& rows);
  process_attempt& attempt_of(const batch_line& line);
  void check_ranks(const batch_line& line);
  std::vector<process_attempt> ordered_attempts();
  void compare_attempts(const std::vector<process_attempt>& attempts);
  void compare(const step_key& at, const delivered_row& was, const delivered_row& now);
  void judge(const job_history& history);
  void add(fault_kind kind, const step_key& at, std::optional<std::uint64_t> position,
           std::string id, std::string text);

  std::unordered_map<std::string, id_number> numbers_;
  std::vector<const std::string*> ids_;
  /// By epoch, indexed by position.
  std::map<std::uint64_t, std::vector<expected_row>> expected_;
  struct log_attempt {
    process_attempt what;
    bool has_header = false;
    /// The cluster's term, if the last header has one.
    std::optional<std::uint64_t> term = {};
  };
  using process_log = std::vector<log_attempt>;
  /// Groups of logs that cover the same time.
  std::vector<std::vector<process_log>> logs_;
  audit_report report_;
};

} // namespace leat::command
