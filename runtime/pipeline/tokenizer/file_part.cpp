#include "runtime/pipeline/tokenizer/file_part.hpp"

#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <cstdint>
#include <stdexcept>

namespace leat {

file_part file_part::at(const char* key) const {
  static const nlohmann::json nothing;
  if (!x_.is_object())
    refuse("an object");
  const auto found = x_.find(key);
  return {found == x_.end() ? nothing : *found, name_ + '.' + key};
}

std::string file_part::text() const {
  if (!x_.is_string())
    refuse("a text");
  return x_.get<std::string>();
}

bool file_part::flag_or(bool preset) const {
  if (is_null())
    return preset;
  if (!x_.is_boolean())
    refuse("true or false");
  return x_.get<bool>();
}

token_id file_part::number() const {
  if (!x_.is_number_unsigned() || x_.get<std::uint64_t>() >= most_tokens)
    refuse("a number below " + std::to_string(most_tokens));
  return x_.get<token_id>();
}

std::vector<file_part> file_part::list() const {
  std::vector<file_part> all;
  if (is_null())
    return all;
  if (!x_.is_array())
    refuse("a list");
  for (const auto& item : x_)
    all.emplace_back(item, name_);
  return all;
}

void file_part::refuse(const std::string& needed) const {
  throw std::invalid_argument(name_ + ", needed " + needed);
}

} // namespace leat
