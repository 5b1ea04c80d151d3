#include "runtime/network/links/byte_layer.hpp"

#include <array>
#include <cstring>

namespace leat {

void write_frame(byte_layer& through, frame_kind kind, std::uint64_t number, std::string_view body,
                 byte_buffer& out) {
  const auto head = bytes_of({.length = static_cast<std::uint32_t>(body.size()),
                              .kind = static_cast<std::uint32_t>(kind),
                              .number = number});
  std::array<char, tls_record_bytes> first; // NOLINT: filled below
  std::memcpy(first.data(), head.data(), head.size());
  const auto size = body.copy(first.data() + head.size(), first.size() - head.size());
  through.write({first.data(), head.size() + size}, out);
  if (size < body.size())
    through.write(body.substr(size), out);
}

} // namespace leat
