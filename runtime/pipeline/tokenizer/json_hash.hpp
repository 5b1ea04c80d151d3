#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace leat {

/// The hash that snapshots have of a tokenizer: of its JSON as the package `tokenizers` writes it,
/// with keys in order and no spaces, without padding and truncation.
std::string hash_of_tokenizer(nlohmann::json all);

/// "sha256:" and the first 32 digits of the SHA-256.
std::string hash_of_text(std::string_view bytes);

} // namespace leat
