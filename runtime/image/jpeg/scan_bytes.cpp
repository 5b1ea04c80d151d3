#include "runtime/image/jpeg/scan_bytes.hpp"

#include <cstring>

namespace leat {

std::size_t scan_bytes::assign(std::span<const std::byte> coded,
                               std::vector<std::size_t>* stuffed) {
  if (bytes_.size() < coded.size() + padding)
    bytes_.resize(coded.size() + coded.size() / 4 + padding);
  const auto* in = reinterpret_cast<const std::uint8_t*>(coded.data());
  const auto* end = in + coded.size();
  auto* out = bytes_.data();
  while (in != end) {
    const auto* found =
        static_cast<const std::uint8_t*>(std::memchr(in, 0xFF, static_cast<std::size_t>(end - in)));
    const auto* stop = found == nullptr ? end : found;
    const auto run = static_cast<std::size_t>(stop - in);
    std::memcpy(out, in, run);
    out += run;
    in = stop;
    if (end - in < 2 || in[1] != 0)
      break;
    if (stuffed != nullptr)
      stuffed->push_back(static_cast<std::size_t>(out - bytes_.data()));
    *out++ = 0xFF;
    in += 2;
  }
  size_ = static_cast<std::size_t>(out - bytes_.data());
  std::memset(out, 0, padding);
  return static_cast<std::size_t>(in - reinterpret_cast<const std::uint8_t*>(coded.data()));
}

} // namespace leat
