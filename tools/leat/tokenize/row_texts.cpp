#include "tools/leat/tokenize/row_texts.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/token_field.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace leat::command {

namespace {

constexpr auto text_stage = "--text";

/// The elements of one row as numbers of tokens; nothing for negative ones.
std::vector<std::uint32_t> tokens_of_row(const field_view& x, std::size_t first, std::size_t end) {
  std::vector<std::uint32_t> tokens;
  visit_type(x.type, [&](auto zero) {
    using number = decltype(zero);
    if constexpr (std::is_integral_v<number>) {
      for (auto i = first; i < end; ++i) {
        number value;
        std::memcpy(&value, x.data + i * sizeof value, sizeof value);
        if (std::in_range<std::uint32_t>(value))
          tokens.push_back(static_cast<std::uint32_t>(value));
      }
    }
  });
  return tokens;
}

} // namespace

row_texts::row_texts(const pipeline& job, const tokenizer_choice& by) {
  field_ = token_field(operators_of(job));
  if (field_.empty())
    refuse_argument(text_stage, "a job without tokens",
                    "one with a tokenizer, or with files of tokens");
  if (by.file.empty())
    decoder_ = token_decoder::of(job);
  else if (is_sentencepiece(by))
    decoder_ = token_decoder::of_sentencepiece(by.file);
  else
    decoder_.emplace(by.file, by.encoding);
  if (!decoder_.has_value())
    refuse_argument(text_stage, "a job without a tokenizer", "--tokenizer FILE");
}

std::vector<std::string> row_texts::of(const batch& x) const {
  const auto names = x.fields();
  if (std::find(names.begin(), names.end(), field_) == names.end())
    refuse_argument(text_stage, "batches without the field " + excerpt(field_),
                    "the field of tokens");
  const auto all = x.field(field_);
  const auto per_row = x.size() == 0 ? 0 : all.size() / x.size();
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (x.valid()[row] == 0)
      continue;
    const auto first = all.is_ragged() ? all.offsets[row] : row * per_row;
    const auto end = all.is_ragged() ? all.offsets[row + 1] : first + per_row;
    texts.push_back(decoder_->decode(tokens_of_row(all, first, end)));
  }
  return texts;
}

} // namespace leat::command
