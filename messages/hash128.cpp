#include <leat/hash128.hpp>

#include <array>
#include <charconv>
#include <cstdio>

namespace leat {

std::string to_string(const hash128& x) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(x.high),
                static_cast<unsigned long long>(x.low));
  return text.data();
}

std::optional<hash128> parse_hash128(std::string_view text) {
  if (text.size() != 32)
    return std::nullopt;
  auto half = [](std::string_view digits, std::uint64_t& value) {
    const char* end = digits.data() + digits.size();
    auto [stop, problem] = std::from_chars(digits.data(), end, value, 16);
    return problem == std::errc{} && stop == end;
  };
  hash128 x;
  if (!half(text.substr(0, 16), x.high) || !half(text.substr(16), x.low))
    return std::nullopt;
  return x;
}

} // namespace leat
