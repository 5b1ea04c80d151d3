#include "runtime/device/device_name.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include <charconv>

namespace leat {

device_name parse_device(std::string_view text, const std::string& option) {
  if (text == "cpu")
    return {};
  if (text == "cuda")
    return {0};
  constexpr std::string_view begin = "cuda:";
  int number = -1;
  if (text.starts_with(begin)) {
    const auto digits = text.substr(begin.size());
    const auto* const end = digits.data() + digits.size();
    const auto found = std::from_chars(digits.data(), end, number);
    if (found.ec == std::errc{} && found.ptr == end && number >= 0)
      return {number};
  }
  refuse_argument(option, "\"" + std::string{text} + "\"", "\"cpu\", \"cuda\" or \"cuda:N\"");
}

} // namespace leat
