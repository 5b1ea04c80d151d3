#pragma once

#include "runtime/pipeline/tokenizer/file_part.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <string>

namespace leat {

/// Whether it is a file tekken.json of Mistral's.
bool is_tekken(const nlohmann::json& all);

/// The tokenizer in such a file: ranks, of which the first ones count, after the special tokens,
/// and a pattern. A text with special tokens begins with "<s>"; special tokens within texts are
/// text. Throws `std::invalid_argument` for a file that is damaged, `errc::invalid_argument`, with
/// `file` in it, for its ranks, and `unsupported_tokenizer` for its pattern.
tokenizer_parts parts_of_tekken(const nlohmann::json& all, const std::string& file);

} // namespace leat
