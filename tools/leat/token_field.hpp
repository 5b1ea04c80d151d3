#pragma once

#include <leat/batch.hpp>
#include <leat/pipeline_facts.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace leat::command {

/// The field whose elements are the tokens that a pipeline makes: the one that its last `pack`
/// packs; else the one that its last tokenizer (`sentencepiece@1`, `tokenize@1`) or its first
/// source of tokens makes; else the one that the shares of its last mix count. Empty if it has none
/// of these.
std::string token_field(const operator_facts& root);

/// The value of a parameter of a map, as its text has it ("text=a into=b"); `preset` if it is not
/// given.
std::string parameter_in(const std::string& all, std::string_view name, std::string_view preset);

/// Number of elements of this field in the valid rows of a batch, as the trainer gets them, padding
/// included; 0 if there is no such field, or if it is text.
std::uint64_t tokens_in(const batch& x, const std::string& field);

} // namespace leat::command
