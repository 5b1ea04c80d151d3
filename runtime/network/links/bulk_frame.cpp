#include "runtime/network/links/bulk_frame.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <cstring>

namespace leat {

std::string front_of(const bulk_frame& x) {
  std::size_t payload = 0;
  for (const auto& part : x.payload)
    payload += part.size();
  if (x.words.size() > most_bulk_words || payload > most_bulk_payload)
    refuse_argument("link",
                    "a frame of " + std::to_string(payload) + " bytes and "
                        + std::to_string(x.words.size()) + " bytes that describe them",
                    "at most " + std::to_string(most_bulk_payload) + " and "
                        + std::to_string(most_bulk_words) + ": more travels in several frames");
  const auto words = static_cast<std::uint32_t>(x.words.size());
  const auto head = bytes_of({.length = static_cast<std::uint32_t>(sizeof words + words + payload),
                              .kind = static_cast<std::uint32_t>(x.kind),
                              .number = x.number});
  std::string bytes(head.size() + sizeof words + words, '\0');
  std::memcpy(bytes.data(), head.data(), head.size());
  std::memcpy(bytes.data() + head.size(), &words, sizeof words);
  x.words.copy(bytes.data() + head.size() + sizeof words, words);
  return bytes;
}

} // namespace leat
