#pragma once

#include "runtime/pipeline/tokenizer/file_part.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <string>
#include <unordered_map>

namespace leat {

using ids_by_text = std::unordered_map<std::string, token_id>;

/// Reads the model of a tokenizer.json into `to`, whose steps are there already; `is_byte_level`:
/// they end in bytes. Returns the model's tokens. Throws `std::invalid_argument` for a model that
/// is damaged, and `unsupported_tokenizer`.
ids_by_text read_model(const file_part& x, bool is_byte_level, tokenizer_parts& to);

} // namespace leat
