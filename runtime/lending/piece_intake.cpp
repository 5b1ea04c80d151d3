#include "runtime/lending/piece_intake.hpp"

#include "runtime/network/links/link_error.hpp"

namespace leat {

namespace {

/// Bytes with the room that they take.
struct roomy_bytes {
  std::shared_ptr<void> room = {};
  std::vector<char> bytes = {};
};

} // namespace

piece_intake::state piece_intake::add(std::uint64_t number, std::string_view words,
                                      std::string_view bytes) {
  const bool is_first = !pieces_.is_open();
  const auto found = pieces_.add(number, words, bytes);
  if (found == payload_pieces::state::torn)
    break_link("a piece that does not follow the one before", "the pieces of a row in turn");
  if (is_first) {
    room_ = pieces_.size() <= most_ ? allowance_.take(pieces_.size()) : nullptr;
    if (!room_)
      pieces_.throw_away();
    else
      pieces_.reserve();
  }
  state x{.is_whole = found == payload_pieces::state::whole, .index = pieces_.index()};
  if (pieces_.is_thrown_away()) {
    room_ = nullptr;
  } else if (x.is_whole) {
    const auto whole = std::make_shared<roomy_bytes>();
    whole->room = std::exchange(room_, nullptr);
    whole->bytes = pieces_.take();
    x.bytes = {whole, &whole->bytes};
  }
  return x;
}

} // namespace leat
