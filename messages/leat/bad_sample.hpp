#pragma once

#include <leat/export.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace leat {

/// Why a sample is bad. These values appear in logs and snapshots: never renumber them.
enum class cause : std::uint8_t {
  /// The content ends before it should: a JPEG without its end marker.
  truncated = 0,
  /// The content violates its format.
  corrupt = 1,
  /// A field of zero bytes where content is needed.
  empty = 2,
  /// A field that the pipeline needs is not in the sample.
  missing_field = 3,
  /// A valid format that leat does not decode: 12-bit JPEG, another image format.
  unsupported = 4,
  /// Declares more pixels or bytes than the limit.
  too_large = 5,
  /// A user function threw.
  function_error = 6,
  /// A field has another type or shape than in the batch.
  wrong_shape = 7,
  /// Ended the process that made it, twice, alone: a function in a process of its own crashed.
  killed = 8,
};

inline constexpr std::size_t num_causes = 9;

LEAT_API std::string_view to_string(cause x) noexcept;

/// Reads what `to_string` wrote; nothing for any other text.
LEAT_API std::optional<cause> parse_cause(std::string_view text) noexcept;

/// Thrown by a stage to declare the current sample bad, with the cause. Anything else that a user
/// function throws counts as `cause::function_error`.
class LEAT_API bad_sample : public std::runtime_error {
public:
  bad_sample(cause why, const std::string& text) : std::runtime_error(text), why_(why) {}

  cause why() const noexcept { return why_; }

private:
  cause why_;
};

/// What happens to a bad sample.
enum class bad_sample_policy : std::uint8_t {
  /// `next()` throws at the batch that needs it.
  fail,
  /// Another sample of the same lane takes its row.
  substitute,
  /// Its row stays, marked invalid.
  mask,
};

/// One bad sample, as logs list it.
struct bad_row {
  std::uint64_t position = 0;
  std::string id;
  cause why = cause::corrupt;
  std::string text;
  /// Id of the sample that took its row; empty if the row was masked.
  std::optional<std::string> substitute;
};

/// Bad samples by cause.
using bad_counts = std::array<std::uint64_t, num_causes>;

} // namespace leat
