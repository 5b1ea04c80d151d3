#pragma once

#include <leat/batch.hpp>
#include <leat/pipeline_facts.hpp>

#include <cstdint>
#include <string>

namespace leat::command {

/// The field whose elements are the tokens that a pipeline makes: the one that its last `pack`
/// packs; else the one that its last tokenizer (`sentencepiece@1`, `tokenize@1`) or its first
/// source of tokens makes; else the one that the shares of its last mix count. Empty if it has none
/// of these.
std::string token_field(const operator_facts& root);

/// Number of elements of this field in the valid rows of a batch, as the trainer gets them, padding
/// included; 0 if there is no such field, or if it is text.
std::uint64_t tokens_in(const batch& x, const std::string& field);

} // namespace leat::command
