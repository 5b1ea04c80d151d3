#include "runtime/pipeline/tokenizer/json_hash.hpp"

#include "runtime/base/sha256.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string_view>

namespace leat {

namespace {

using nlohmann::json;

/// What the package writes even if a file does not have it, and for what older files call
/// otherwise.
void add_presets(json& model) {
  if (!model.is_object())
    return;
  const bool is_bpe = model.contains("merges");
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, json>>{{"byte_fallback", false},
                                                           {"ignore_merges", false},
                                                           {"fuse_unk", false},
                                                           {"dropout", nullptr},
                                                           {"unk_token", nullptr},
                                                           {"continuing_subword_prefix", nullptr},
                                                           {"end_of_word_suffix", nullptr}})
    if (is_bpe && !model.contains(name))
      model[name] = value;
  if (!is_bpe || !model["merges"].is_array())
    return;
  for (auto& merge : model["merges"])
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const auto space = text.find(' ');
      merge = json::array({text.substr(0, space), text.substr(space == text.npos ? 0 : space + 1)});
    }
}

void add_presets_of_others(json& model) {
  if (!model.is_object())
    return;
  const auto type = model.value("type", "");
  const auto add = [&](const char* name, const json& value) {
    if (!model.contains(name))
      model[name] = value;
  };
  if (type == "WordPiece") {
    add("unk_token", "[UNK]");
    add("continuing_subword_prefix", "##");
    add("max_input_chars_per_word", 100);
  } else if (type == "Unigram") {
    add("unk_id", nullptr);
    add("byte_fallback", false);
  }
}

/// As Python writes it: the fewest digits that stand for it, with an exponent where that is below
/// -4 or above 15.
std::string number_of_python(double x) {
  constexpr double least = 1e-4;
  constexpr double most = 1e16;
  const auto size = std::abs(x);
  const bool is_plain = size == 0 || (size >= least && size < most);
  std::array<char, 64> place{};
  const auto end =
      std::to_chars(place.data(), place.data() + place.size(), x,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  std::string text{place.data(), end};
  return is_plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

/// A unigram model's tokens with their scores.
std::string text_of_pieces(const json& vocabulary) {
  std::string text = "[";
  for (const auto& piece : vocabulary) {
    text += text.size() > 1 ? ",[" : "[";
    for (const auto& part : piece) {
      text += text.back() == '[' ? "" : ",";
      text += part.is_number() ? number_of_python(part.get<double>()) : part.dump(-1, ' ', true);
    }
    text += ']';
  }
  return text + ']';
}

void add_presets_of_byte_level(json& part) {
  if (part.is_array())
    for (auto& each : part)
      add_presets_of_byte_level(each);
  if (!part.is_object())
    return;
  for (const auto* name : {"pretokenizers", "processors", "decoders"})
    if (part.contains(name))
      add_presets_of_byte_level(part[name]);
  if (part.value("type", "") == "ByteLevel" && !part.contains("use_regex"))
    part["use_regex"] = true;
}

} // namespace

std::string hash_of_tokenizer(json all) {
  all["padding"] = nullptr;
  all["truncation"] = nullptr;
  for (const auto* name : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    if (!all.contains(name))
      all[name] = nullptr;
    add_presets_of_byte_level(all[name]);
  }
  auto& model = all["model"];
  add_presets(model);
  add_presets_of_others(model);
  constexpr std::string_view instead = "\"\\u0000\"";
  if (!model.is_object() || model.value("type", "") != "Unigram" || !model["vocab"].is_array())
    return hash_of_text(all.dump(-1, ' ', true));
  const auto pieces = text_of_pieces(model["vocab"]);
  model["vocab"] = std::string(1, '\0');
  auto text = all.dump(-1, ' ', true);
  text.replace(text.rfind(instead), instead.size(), pieces);
  return hash_of_text(text);
}

std::string hash_of_text(std::string_view bytes) {
  return "sha256:" + sha256_text(bytes).substr(0, 32);
}

} // namespace leat
