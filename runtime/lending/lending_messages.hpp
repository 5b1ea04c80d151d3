#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// What a rank and a helper say to each other on a bulk connection: processes of one version of
// leat, which the first note makes sure of. All of these are read without trust: what does not fit
// is refused, and takes no memory out of proportion to its bytes. Texts and bytes that are read lie
// where they were read from.

/// The number of an `offer` frame that has a job, and no rows: see lent_job.
inline constexpr std::uint64_t number_of_job = 0;
/// A row with its records, or its fields, may have no more: it is made by the rank.
inline constexpr std::size_t most_lent_bytes = std::size_t{255} << 20;

/// Of an offer, or an answer.
inline constexpr std::size_t most_offered_rows = 1024;

/// A note, of either side.
struct lending_note {
  enum class kind : std::uint8_t {
    /// Of a helper, first: it takes rows.
    lend_me = 1,
    /// Of both, once a second: the sender is there.
    alive,
    /// Of a helper: it has made the job's plan, and makes rows.
    ready,
    /// Of a helper: it cannot make rows of this job. Of a rank: it takes none of this helper, which
    /// may end the connection. `text` says why.
    refused,
    /// Of a rank: nobody needs these offers any more. What is made of them all the same is no harm;
    /// all other rows of them are answered as not made, so that the rank knows that they are gone.
    cancel,
    /// Of a rank: the job is over.
    over,
  };
  kind what = kind::alive;
  /// Of leat, with `lend_me`.
  std::string version = {};
  /// Likewise: threads that make rows, and bytes of offers and rows that the helper has room for.
  std::uint64_t cores = 0;
  std::uint64_t window = 0;
  /// With `ready`: it reads records itself.
  bool has_data = false;
  std::string text = {};
  std::vector<std::uint64_t> offers = {};

  friend bool operator==(const lending_note&, const lending_note&) = default;
};

std::string encode(const lending_note& x);
std::optional<lending_note> decode_lending_note(std::string_view bytes);

/// A row in an offer.
struct offered_row {
  /// As row_codec has it.
  std::string_view request = {};
  /// What it is made of; empty if the helper reads that itself.
  std::string_view records = {};
};
std::string encode(const std::vector<offered_row>& rows);
std::optional<std::vector<offered_row>> decode_offer(std::string_view bytes);

/// A row in an answer.
struct answered_row {
  /// Which row of the offer.
  std::uint64_t index = 0;
  /// False: the helper does not make it, and others have to.
  bool is_made = false;
  /// In nanoseconds; what is read is at most an hour.
  std::uint64_t took = 0;
  /// As row_codec has it.
  std::string_view result = {};
};
std::string encode(const std::vector<answered_row>& rows);
/// Rows of an offer from `first` to just before `end`, none of which is made.
std::string encode_not_made(std::size_t first, std::size_t end);
std::optional<std::vector<answered_row>> decode_answer(std::string_view bytes);

} // namespace leat
