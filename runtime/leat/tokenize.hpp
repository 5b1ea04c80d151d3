#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>
#include <leat/tensor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

struct tokenize_options {
  /// The text, bytes in UTF-8.
  std::string field = "text";
  std::string into = "tokens";
  /// An integer type that has room for every token.
  dtype type = dtype::i32;
  /// Adds what the tokenizer puts around a text.
  bool add_special_tokens = false;
  /// Longer texts are cut to this many tokens, at least 1, those around a text included.
  std::optional<std::uint64_t> max_tokens = {};
  /// The text stays; otherwise it is removed.
  bool keep_text = false;
  /// Special tokens within a text are text like any other.
  bool encode_special_tokens = false;
  /// For a file of ranks as tiktoken has them: the name of its encoding, such as cl100k_base.
  /// Empty: the file is a tokenizer.json.
  std::string encoding = {};
};

/// Sets `into`, ragged [number of tokens], to the tokens of the text, as the package `tokenizers`
/// gives them for this tokenizer.json (a file, or a directory with one), or tiktoken's
/// `encode_ordinary` for this file of ranks or tekken.json. The file is read in this call. Its hash
/// is part of the map, and so of snapshots: a restore with another one is refused. Throws
/// `errc::not_found` and `errc::io`, and `errc::invalid_argument` for a file that is damaged, and
/// for a tokenizer that leat does not know, which the text names (docs/language-models.md). Text
/// that is not UTF-8 is a bad sample (corrupt).
LEAT_API map_stage tokenize(const std::string& tokenizer, tokenize_options options = {});

/// As `tokenize`, for the content of a tokenizer.json; `name` stands for it in the pipeline's text.
LEAT_API map_stage tokenize_content(const std::string& name, const std::string& content,
                                    tokenize_options options = {});

/// What `tokenize` does, for single texts. A value; any thread, of which one at a time makes
/// tokens.
class LEAT_API token_encoder {
public:
  /// Reads the file, as `tokenize` does, and throws as it does.
  explicit token_encoder(const std::string& tokenizer, tokenize_options options = {});
  /// As `tokenize_content`. Numbers of a file are those that the package reads, some of which have
  /// another last bit; with `has_nearest_numbers` they are those of a tokenizer in memory that has
  /// written this content.
  static token_encoder of_content(const std::string& name, const std::string& content,
                                  tokenize_options options = {}, bool has_nearest_numbers = false);

  /// The tokens that the map would set for this text. Throws `bad_sample` (corrupt) for a text that
  /// is not UTF-8.
  std::vector<std::uint32_t> encode(std::string_view text) const;
  /// The bytes that tokens stand for, special ones included; of numbers that are no tokens none.
  /// Spaces that the tokenizer puts before a text stay.
  std::string decode(std::span<const std::uint32_t> tokens) const;
  /// The largest number that a token has.
  std::uint32_t last_token() const noexcept;

  /// The map.
  map_stage stage() const;

private:
  struct content;
  explicit token_encoder(std::shared_ptr<const content> of) : content_(std::move(of)) {}

  std::shared_ptr<const content> content_;
};

/// What tokens say, to look at them. A value; `decode` is for one thread at a time.
class LEAT_API token_decoder {
public:
  /// By a file that `tokenize` takes, with the name of its encoding if it has ranks; throws as
  /// `tokenize`.
  explicit token_decoder(const std::string& tokenizer, const std::string& encoding = {});
  /// By a model of SentencePiece; throws as `sentencepiece`.
  static token_decoder of_sentencepiece(const std::string& model);
  /// By the file of a pipeline's first `tokenize@1` or `sentencepiece@1`, which is read again;
  /// nothing for a pipeline without one. Throws as these.
  static std::optional<token_decoder> of(const pipeline& job);

  /// The bytes that tokens stand for; of numbers that are no tokens none.
  std::string decode(std::span<const std::uint32_t> tokens) const { return decode_(tokens); }
  /// The largest number that a token has.
  std::uint32_t last_token() const noexcept { return last_token_; }

private:
  using function = std::function<std::string(std::span<const std::uint32_t>)>;
  token_decoder(function decode, std::uint32_t last_token)
      : decode_(std::move(decode)), last_token_(last_token) {}

  function decode_;
  std::uint32_t last_token_;
};

} // namespace leat
