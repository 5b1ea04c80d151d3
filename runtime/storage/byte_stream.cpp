#include "runtime/storage/byte_stream.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <vector>

namespace leat {

bool skip_to(byte_stream& stream, std::uint64_t offset, const std::stop_token& stop) {
  std::vector<std::byte> dropped(
      std::min<std::uint64_t>(stream_block_bytes, offset - stream.offset()));
  while (stream.offset() < offset) {
    if (stop.stop_requested())
      throw error(errc::interrupted, {.stage = "read", .got = "a job that ends"});
    const auto want = std::min<std::uint64_t>(dropped.size(), offset - stream.offset());
    if (stream.read(std::span{dropped}.first(want)) == 0)
      return false;
  }
  return true;
}

std::size_t read_all(byte_stream& stream, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto n = stream.read(into.subspan(done));
    if (n == 0)
      break;
    done += n;
  }
  return done;
}

} // namespace leat
