#include "runtime/network/links/frame_reader.hpp"

#include "runtime/network/links/link_error.hpp"

#include <string>
#include <utility>

namespace leat {

std::span<char> frame_reader::room() noexcept {
  if (has_head_)
    return {coming_.bytes.get() + got_, coming_.head.length - got_};
  return std::span{head_bytes_}.subspan(got_);
}

std::optional<frame> frame_reader::filled(std::size_t bytes) {
  got_ += bytes;
  if (!has_head_) {
    if (got_ < header_bytes)
      return std::nullopt;
    got_ = 0;
    const auto head = header_at(head_bytes_.data());
    if (!rules_.allows(head))
      break_link("a frame of kind " + std::to_string(head.kind) + " and "
                     + std::to_string(head.length) + " bytes",
                 "one that this peer may send here");
    coming_ = {head, head.length == 0 ? nullptr : std::unique_ptr<char[]>{new char[head.length]}};
    has_head_ = true;
  }
  if (got_ < coming_.head.length)
    return std::nullopt;
  got_ = 0;
  has_head_ = false;
  return std::exchange(coming_, {});
}

} // namespace leat
