#include "runtime/snapshot/snapshot_names.hpp"

#include "runtime/storage/durable_file.hpp"

#include <charconv>
#include <cstddef>

namespace leat {

namespace {

/// Takes `prefix` and a number off the front of `text`.
bool take(std::string_view& text, std::string_view prefix, std::uint64_t& number) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return problem == std::errc{};
}

bool take(std::string_view& text, set_name& x) {
  return take(text, "epoch-", x.epoch) && take(text, "-step-", x.step)
         && take(text, ".of-", x.world_size) && x.world_size > 0;
}

std::string position_of(const set_name& x) {
  return "epoch-" + std::to_string(x.epoch) + "-step-" + std::to_string(x.step);
}

} // namespace

part_name name_of(const snapshot& x) {
  return {{x.epoch, x.step, x.world_size}, x.rank};
}

std::string to_string(const set_name& x) {
  return position_of(x) + ".of-" + std::to_string(x.world_size);
}

std::string to_string(const part_name& x) {
  return position_of(x.set) + ".rank-" + std::to_string(x.rank) + "-of-"
         + std::to_string(x.set.world_size);
}

std::optional<set_name> parse_set_name(std::string_view text) {
  set_name x;
  auto rest = text;
  if (!take(rest, x) || to_string(x) != text)
    return std::nullopt;
  return x;
}

std::optional<part_name> parse_part_name(std::string_view text) {
  part_name x;
  auto rest = text;
  const bool is_name = take(rest, "epoch-", x.set.epoch) && take(rest, "-step-", x.set.step)
                       && take(rest, ".rank-", x.rank) && take(rest, "-of-", x.set.world_size);
  if (!is_name || x.rank >= x.set.world_size || to_string(x) != text)
    return std::nullopt;
  return x;
}

std::optional<set_name> parse_unfinished_set_name(std::string_view text) {
  set_name x;
  std::uint64_t process = 0;
  std::uint64_t number = 0;
  auto rest = text;
  const bool is_name = take(rest, x) && take(rest, ".", process) && take(rest, ".", number);
  if (!is_name || rest != temporary_suffix)
    return std::nullopt;
  const auto written = to_string(x) + '.' + std::to_string(process) + '.' + std::to_string(number)
                       + std::string{temporary_suffix};
  return written == text ? std::optional{x} : std::nullopt;
}

} // namespace leat
