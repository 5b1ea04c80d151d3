#pragma once

#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <string>

namespace leat {

struct tokenizer_of_json {
  tokenizer_parts parts;
  /// Of the content without padding and truncation, however it is written: "sha256:" and 32 digits.
  std::string hash;
};

/// Reads a file tokenizer.json of Hugging Face's package `tokenizers`, or a tekken.json of
/// Mistral's, whose hash is that of the file. Numbers are the nearest ones where the package
/// wrote the tokenizer just now, and did not read it again. Throws
/// `errc::invalid_argument`, with `file` in it, for one that is damaged or contradicts itself, and
/// `unsupported_tokenizer` for what leat does not do.
tokenizer_of_json parse_tokenizer_json(const std::string& text, const std::string& file,
                                       bool has_nearest_numbers = false);

} // namespace leat
