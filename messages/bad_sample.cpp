#include <leat/bad_sample.hpp>

namespace leat {

namespace {

constexpr std::array<std::string_view, num_causes> cause_names{
    "truncated", "corrupt",        "empty",       "missing_field", "unsupported",
    "too_large", "function_error", "wrong_shape", "killed",
};

} // namespace

std::string_view to_string(cause x) noexcept {
  return cause_names[static_cast<std::size_t>(x) % num_causes];
}

std::optional<cause> parse_cause(std::string_view text) noexcept {
  for (std::size_t i = 0; i < num_causes; ++i)
    if (cause_names[i] == text)
      return static_cast<cause>(i);
  return std::nullopt;
}

} // namespace leat
