#pragma once

#include "runtime/lending/byte_allowance.hpp"
#include "runtime/lending/payload_pieces.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// Puts the pieces that come by one connection together, as far as an allowance has room for the
/// whole, whose size the first of them says: what there is no room for is thrown away. One thread
/// at a time.
class piece_intake {
public:
  /// `most`: bytes of one payload.
  piece_intake(byte_allowance room, std::uint64_t most)
      : allowance_(std::move(room)), most_(most) {}

  struct state {
    /// It was the last piece.
    bool is_whole = false;
    /// The row that the payload is about.
    std::uint64_t index = 0;
    /// All of it, once it is whole: its room is taken until the last copy is gone. Null if it was
    /// thrown away.
    std::shared_ptr<std::vector<char>> bytes = {};
  };
  /// Throws `errc::cluster` for a piece that does not follow the one before.
  state add(std::uint64_t number, std::string_view words, std::string_view bytes);

  /// Some pieces of a payload are there, and others are not.
  bool is_open() const noexcept { return pieces_.is_open(); }

private:
  const byte_allowance allowance_;
  const std::uint64_t most_;
  payload_pieces pieces_;
  /// Of what is coming.
  std::shared_ptr<void> room_;
};

} // namespace leat
