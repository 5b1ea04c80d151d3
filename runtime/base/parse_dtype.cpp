#include "runtime/base/parse_dtype.hpp"

#include "runtime/base/text.hpp"

#include <leat/error.hpp>

namespace leat {

dtype parse_dtype(std::string_view text, const std::string& stage) {
  std::string names;
  for (auto i = static_cast<int>(dtype::u8); i <= static_cast<int>(last_dtype); ++i) {
    const auto x = static_cast<dtype>(i);
    if (to_string(x) == text)
      return x;
    names += (names.empty() ? "one of " : ", ") + std::string{to_string(x)};
  }
  throw error(errc::invalid_argument,
              {.stage = stage, .got = "type " + excerpt(text), .needed = std::move(names)});
}

} // namespace leat
