#include "runtime/image/jpeg/file_seal.hpp"

#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <array>

namespace leat {

namespace {

/// Tells files from each other: size, headers, and stretches spread over all the file, its end
/// among them. A hash of all bytes would take a tenth of the time of an image.
std::uint64_t mark_of(std::span<const std::byte> file) {
  constexpr std::size_t head = 1024;
  constexpr std::size_t stretches = 32;
  constexpr std::size_t stretch = 64;
  std::array<std::byte, head + stretches * stretch> seen;
  if (file.size() <= seen.size())
    return xxh3_64(file);
  auto to = std::copy_n(file.begin(), head, seen.begin());
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto at = (file.size() - stretch) * i / (stretches - 1);
    to = std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), stretch, to);
  }
  return xxh3_64(seen) ^ file.size();
}

std::uint64_t mark_in(std::span<const std::byte> bytes) {
  const auto* at = bytes.data();
  return take_number<std::uint64_t>(at);
}

} // namespace

void seal(std::span<std::byte> bytes, std::span<const std::byte> file) {
  auto* at = bytes.data();
  put_number(at, mark_of(file));
  put_number(at, xxh3_64(bytes.subspan(seal_bytes)));
}

std::optional<std::span<const std::byte>> sealed(std::span<const std::byte> bytes,
                                                 std::size_t entry_bytes) {
  if (bytes.size() < seal_bytes || (bytes.size() - seal_bytes) % entry_bytes != 0)
    return std::nullopt;
  const auto* at = bytes.data() + sizeof(std::uint64_t);
  const auto content = bytes.subspan(seal_bytes);
  if (take_number<std::uint64_t>(at) != xxh3_64(content))
    return std::nullopt;
  return content;
}

std::optional<std::span<const std::byte>> sealed_of(std::span<const std::byte> file,
                                                    std::span<const std::byte> bytes,
                                                    std::size_t entry_bytes) {
  const auto content = sealed(bytes, entry_bytes);
  return content && mark_in(bytes) == mark_of(file) ? content : std::nullopt;
}

} // namespace leat
