#include "tools/leat/token_field.hpp"

#include <algorithm>
#include <string_view>

namespace leat::command {

namespace {

/// A parameter's value in a text such as "text=a into=b"; `preset` if it is not given.
std::string parameter(const std::string& all, std::string_view name, std::string_view preset) {
  const auto key = ' ' + std::string{name} + '=';
  const auto text = ' ' + all + ' ';
  const auto at = text.find(key);
  if (at == std::string::npos)
    return std::string{preset};
  const auto begin = at + key.size();
  return text.substr(begin, text.find(' ', begin) - begin);
}

} // namespace

std::string token_field(const operator_facts& root) {
  std::string packed;
  std::string tokenized;
  std::string stored;
  std::string counted;
  for_each_operator(root, [&](const operator_facts& x) {
    if (x.op == "pack")
      packed = x.get<std::string>("field");
    else if (is_map(x)
             && (x.get<std::string>("name") == "sentencepiece@1"
                 || x.get<std::string>("name") == "tokenize@1"))
      tokenized = parameter(x.get<std::string>("parameters"), "into", "tokens");
    else if (x.is_source() && (x.op == "tokens" || x.op == "megatron"))
      stored = "tokens";
    else if (x.op == "mix" && !x.get<std::string>("cost").empty())
      counted = x.get<std::string>("cost");
  });
  for (const auto& x : {packed, tokenized, stored})
    if (!x.empty())
      return x;
  return counted;
}

std::uint64_t tokens_in(const batch& x, const std::string& field) {
  if (field.empty())
    return 0;
  const auto names = x.fields();
  if (std::find(names.begin(), names.end(), field) == names.end())
    return 0;
  const auto all = x.field(field);
  if (all.is_ragged()) // rows without a sample have no elements
    return all.type == dtype::u8 ? 0 : all.size();
  return x.size() == 0 ? 0 : all.size() / x.size() * x.valid_rows();
}

} // namespace leat::command
