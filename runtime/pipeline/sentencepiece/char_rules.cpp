#include "runtime/pipeline/sentencepiece/char_rules.hpp"

namespace leat {

namespace {

constexpr std::size_t unit_bytes = 4;

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t x = 0;
  for (std::size_t i = 0; i < unit_bytes; ++i)
    x |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return x;
}

// A unit of Darts-clone's double array.

constexpr std::uint32_t leaf = std::uint32_t{1} << 31;

bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) == 1;
}
std::uint32_t value_of_leaf(std::uint32_t unit) {
  return unit & ~leaf;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & (leaf | 0xff);
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

} // namespace

char_rules::char_rules(std::string_view compiled) {
  if (compiled.empty()) {
    is_whole_ = true;
    return;
  }
  if (compiled.size() <= unit_bytes)
    return;
  const std::size_t size = little_endian(compiled);
  compiled.remove_prefix(unit_bytes);
  if (size >= compiled.size() || size % unit_bytes != 0)
    return;
  for (std::size_t at = 0; at < size; at += unit_bytes)
    units_.push_back(little_endian(compiled.substr(at)));
  texts_ = compiled.substr(size);
  is_whole_ = texts_.ends_with('\0');
}

bool char_rules::may_replace(unsigned char first, unsigned char second) const {
  if (units_.empty())
    return false;
  std::uint32_t at = offset(units_[0]) ^ first;
  if (at >= units_.size() || label(units_[at]) != first)
    return false;
  const auto unit = units_[at];
  at ^= offset(unit) ^ second;
  return has_leaf(unit) || (at < units_.size() && label(units_[at]) == second);
}

replaced_prefix char_rules::replace(std::string_view text) const {
  replaced_prefix found;
  if (units_.empty())
    return found;
  std::uint32_t at = offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= units_.size() || label(units_[at]) != byte)
      break;
    const auto unit = units_[at];
    at ^= offset(unit);
    if (!has_leaf(unit) || at >= units_.size())
      continue;
    if (const auto place = value_of_leaf(units_[at]); place < texts_.size())
      found = {texts_.c_str() + place, i + 1};
  }
  return found;
}

} // namespace leat
