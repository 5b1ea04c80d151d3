#include "runtime/lending/payload_pieces.hpp"

#include "runtime/base/value_bytes.hpp"

#include <new>
#include <utility>

namespace leat {

std::string encode(const payload_piece& x) {
  return bytes_written_by([&](value_writer& to) {
    to.number(x.index);
    to.number(x.offset);
    to.number(x.size);
  });
}

std::optional<payload_piece> decode_payload_piece(std::string_view words) try {
  value_reader from{words};
  payload_piece x;
  x.index = from.number();
  x.offset = from.number(most_whole_bytes);
  x.size = from.number(most_whole_bytes);
  from.end();
  return x;
} catch (const torn_value&) {
  return std::nullopt;
}

std::vector<bulk_frame> frames_of(frame_kind kind, std::uint64_t number, std::string payload,
                                  std::uint64_t index, std::size_t most_piece) {
  const auto owner = std::make_shared<const std::string>(std::move(payload));
  const std::string_view all{*owner};
  std::vector<bulk_frame> frames;
  for (std::size_t offset = 0; offset == 0 || offset < all.size(); offset += most_piece) {
    const auto part = all.substr(offset, most_piece);
    auto& x = frames.emplace_back();
    x.kind = kind;
    x.number = number;
    if (all.size() > most_piece)
      x.words = encode(payload_piece{index, offset, all.size()});
    x.payload = {{part.data(), part.size()}};
    x.owner = owner;
  }
  return frames;
}

payload_pieces::state payload_pieces::add(std::uint64_t number, std::string_view words,
                                          std::string_view bytes) {
  const auto piece = decode_payload_piece(words);
  if (!piece || bytes.empty())
    return state::torn;
  if (!is_open()) {
    number_ = number;
    first_ = *piece;
    next_ = 0;
    is_thrown_away_ = false;
    bytes_.clear();
  }
  if (number != number_ || piece->index != first_.index || piece->size != first_.size
      || piece->offset != next_ || bytes.size() > first_.size - next_)
    return state::torn;
  if (!is_thrown_away_)
    try {
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) { // others have to make the row
      throw_away();
    }
  next_ += bytes.size();
  return is_open() ? state::open : state::whole;
}

void payload_pieces::reserve() noexcept {
  try {
    bytes_.reserve(first_.size);
  } catch (const std::bad_alloc&) {
    throw_away();
  }
}

void payload_pieces::throw_away() noexcept {
  is_thrown_away_ = true;
  bytes_ = {};
}

std::vector<char> payload_pieces::take() noexcept {
  return std::exchange(bytes_, {});
}

} // namespace leat
