#pragma once

#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Every cut of a token is looked at; the longest ones in use have 128 bytes.
constexpr std::size_t most_token_bytes = 512;

/// A token's bytes and its number: the smaller, the earlier it is merged.
struct ranked_text {
  std::string bytes;
  token_id rank;
};

/// Reads a file of ranks as tiktoken does: a line per token, with its bytes in base64 and its
/// number. Throws `errc::invalid_argument`, with `file` in it.
std::vector<ranked_text> parse_rank_file(std::string_view text, const std::string& file);

/// Whether a file begins as files of ranks do: with a token in base64, a space, and its number.
bool begins_as_ranks(std::string_view text);

/// The names of encodings whose patterns leat knows, separated by ", ".
std::string known_encodings();
/// Throws `errc::invalid_argument` for a name that is not one of them.
std::string_view pattern_of_encoding(const std::string& name);
/// Throws `errc::invalid_argument` for a file of ranks whose encoding nobody has named.
[[noreturn]] void refuse_ranks_without_encoding(const char* stage, const std::string& file);

/// The tokenizer of ranks and a pattern: a token's id is its rank plus `offset`. Throws
/// `errc::invalid_argument` for ranks without one of the 256 bytes or with equal ones, and
/// `unsupported_tokenizer` for a pattern.
tokenizer_parts parts_of_ranks(const std::vector<ranked_text>& all, std::string_view pattern,
                               token_id offset, const std::string& file);

} // namespace leat
