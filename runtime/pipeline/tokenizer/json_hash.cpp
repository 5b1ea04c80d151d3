#include "runtime/pipeline/tokenizer/json_hash.hpp"

#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include <array>
#include <initializer_list>
#include <string_view>

namespace leat {

namespace {

using nlohmann::json;

constexpr std::size_t hash_bytes = 16;

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
  add_presets(all["model"]);
  return sha256_text(all.dump(-1, ' ', true));
}

std::string sha256_text(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string result = "sha256:";
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t i = 0; i < hash_bytes; ++i)
    (result += digits[digest[i] >> 4]) += digits[digest[i] & 15];
  return result;
}

} // namespace leat
