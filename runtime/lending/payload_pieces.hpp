#pragma once

#include "runtime/network/links/bulk_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// Offers and answers that are larger than a frame travel in several frames, one directly
// after the other, whose words say so. What comes is read without trust.

inline constexpr std::size_t most_payload_piece = std::size_t{8} << 20;
/// Of all pieces together.
inline constexpr std::size_t most_whole_bytes = std::size_t{256} << 20;

/// The words of a piece.
struct payload_piece {
  /// The only row of the answer, or of the offer that was not left out of it.
  std::uint64_t index = 0;
  std::uint64_t offset = 0;
  /// Of all pieces together.
  std::uint64_t size = 0;
};
std::string encode(const payload_piece& x);
std::optional<payload_piece> decode_payload_piece(std::string_view words);

/// The frames by which a payload travels: one, if it is no larger than `most_piece`.
std::vector<bulk_frame> frames_of(frame_kind kind, std::uint64_t number, std::string payload,
                                  std::uint64_t index = 0,
                                  std::size_t most_piece = most_payload_piece);

/// Puts the pieces of one payload after the other together. What it holds was received. One thread
/// at a time.
class payload_pieces {
public:
  enum class state {
    /// It does not follow the piece before: nothing may be added any more.
    torn,
    /// Others are to come.
    open,
    /// It was the last one.
    whole,
  };
  state add(std::uint64_t number, std::string_view words, std::string_view bytes);
  /// Takes the memory for all of what is coming, or throws it away if there is none: for whoever
  /// has found that it is worth that.
  void reserve() noexcept;
  /// What comes of this payload is thrown away.
  void throw_away() noexcept;

  /// Some pieces of a payload are there, and others are not.
  bool is_open() const noexcept { return next_ < first_.size; }
  bool is_thrown_away() const noexcept { return is_thrown_away_; }
  /// Of the payload that came last.
  std::uint64_t index() const noexcept { return first_.index; }
  std::uint64_t size() const noexcept { return first_.size; }
  /// Once it is whole, and was not thrown away.
  std::vector<char> take() noexcept;

private:
  std::uint64_t number_ = 0;
  payload_piece first_;
  std::uint64_t next_ = 0;
  bool is_thrown_away_ = false;
  std::vector<char> bytes_;
};

} // namespace leat
