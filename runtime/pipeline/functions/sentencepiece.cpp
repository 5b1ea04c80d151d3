#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/functions/built_in.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/functions.hpp>
#include <leat/hash128.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr auto sentencepiece_name = "sentencepiece@1";
/// The largest vocabularies take a few megabytes.
constexpr std::size_t most_model_bytes = std::size_t{1} << 30;

struct opened_model {
  std::shared_ptr<const piece_encoder> encoder;
  hash128 hash;
};

opened_model open_model(const std::string& path) {
  const auto bytes = read_whole_file(path, most_model_bytes, sentencepiece_name);
  auto encoder = std::make_shared<const piece_encoder>(parse_piece_model(bytes, path));
  if (!encoder->has_whole_rules())
    throw_file_error(errc::invalid_argument, sentencepiece_name, path,
                     "rules of normalization that are cut or damaged",
                     "a model file that SentencePiece wrote");
  return {std::move(encoder), xxh3_128(std::as_bytes(std::span{bytes}))};
}

/// What one worker makes tokens with.
struct piece_worker {
  std::shared_ptr<const piece_encoder> by;
  sentencepiece_options options;
  piece_encoder::scratch scratch = {};
  std::vector<std::int32_t> tokens = {};

  void run(sample& x) {
    free_large(tokens);
    by->encode(utf8_text_of(x, options.field), scratch, tokens);
    if (!options.keep_text)
      x.erase(options.field);
    const auto to = x.make_ragged<std::int32_t>(
        options.into, tokens.size() + (options.begin ? 1 : 0) + (options.end ? 1 : 0));
    auto* at = to.data();
    if (options.begin)
      *at++ = *by->model().begin;
    at = std::copy(tokens.begin(), tokens.end(), at);
    if (options.end)
      *at = *by->model().end;
  }
};

/// Refuses a token that the model does not have.
void check_token(bool is_wanted, bool is_there, const char* name, const std::string& path) {
  if (is_wanted && !is_there)
    throw_file_error(errc::invalid_argument, sentencepiece_name, path,
                     std::string{name} + "=true for a model without such a token",
                     std::string{name} + "=false, or add_tokens@1");
}

} // namespace

map_stage sentencepiece_of_hash(const std::string& path, const std::optional<std::string>& hash,
                                sentencepiece_options options) {
  check_field_name(sentencepiece_name, options.field);
  check_field_name(sentencepiece_name, options.into);
  if (path.empty())
    refuse_argument(sentencepiece_name, "no path of a model", "that of a model file");
  auto opened = open_model(path);
  const auto found = to_string(opened.hash);
  if (hash && *hash != found)
    throw_file_error(errc::invalid_argument, sentencepiece_name, path,
                     "another model, with the hash " + found, "the one with the hash " + *hash);
  check_token(options.begin, opened.encoder->model().begin.has_value(), "begin", path);
  check_token(options.end, opened.encoder->model().end.has_value(), "end", path);
  auto text = word("model", percent_text(path)) + ' ' + word("hash", found) + ' '
              + word("field", options.field) + ' ' + word("into", options.into) + ' '
              + word("keep_text", value_text(options.keep_text)) + ' '
              + word("begin", value_text(options.begin)) + ' '
              + word("end", value_text(options.end));
  return {sentencepiece_name, std::move(text),
          [by = std::move(opened.encoder), options = std::move(options)] {
            return [worker = std::make_shared<piece_worker>(piece_worker{by, options})](
                       sample& x, context&) { worker->run(x); };
          }};
}

map_stage sentencepiece(const std::string& model, sentencepiece_options options) {
  return sentencepiece_of_hash(model, std::nullopt, std::move(options));
}

} // namespace leat
