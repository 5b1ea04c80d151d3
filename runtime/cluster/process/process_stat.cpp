#include "runtime/cluster/process/process_stat.hpp"

#include <charconv>

namespace leat {

namespace {

// Positions after the name, of the fields that proc(5) numbers 20 and 22.
constexpr int threads_field = 17;
constexpr int start_field = 19;

/// Takes the text up to the next space; nothing without a space after it.
std::optional<std::string_view> take_field(std::string_view& text) {
  const auto end = text.find(' ');
  if (end == std::string_view::npos)
    return std::nullopt;
  const auto field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return field;
}

bool read_field(std::string_view field, std::uint64_t& to) {
  const auto* const end = field.data() + field.size();
  const auto [read, problem] = std::from_chars(field.data(), end, to);
  return problem == std::errc{} && read == end;
}

} // namespace

std::optional<process_stat> parse_process_stat(std::string_view text) {
  const auto name_end = text.rfind(") ");
  if (name_end == std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(name_end + 2);
  process_stat x;
  for (int i = 0; i <= start_field; ++i) {
    const auto field = take_field(text);
    if (!field || (i == 0 && field->size() != 1))
      return std::nullopt;
    if (i == 0)
      x.state = field->front();
    if ((i == threads_field && !read_field(*field, x.threads))
        || (i == start_field && !read_field(*field, x.start_ticks)))
      return std::nullopt;
  }
  return x;
}

} // namespace leat
