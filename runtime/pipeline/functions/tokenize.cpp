#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/pipeline/functions/built_in.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/tokenizer/json_hash.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/text_tokenizer.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"
#include "runtime/storage/whole_file.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leat {

struct opened_tokenizer {
  std::shared_ptr<const text_tokenizer> by;
  std::string hash;
};

namespace {

constexpr auto tokenize_name = "tokenize@1";
/// The largest in use take 35 MB.
constexpr std::size_t most_file_bytes = std::size_t{1} << 27;

opened_tokenizer opened(const std::string& name, const std::string& content,
                        const std::string& encoding, bool has_nearest_numbers = false) {
  try {
    if (!encoding.empty()) {
      auto parts =
          parts_of_ranks(parse_rank_file(content, name), pattern_of_encoding(encoding), 0, name);
      return {std::make_shared<const text_tokenizer>(std::move(parts)), hash_of_text(content)};
    }
    if (begins_as_ranks(content))
      refuse_ranks_without_encoding(tokenize_name, name);
    auto [parts, hash] = parse_tokenizer_json(content, name, has_nearest_numbers);
    return {std::make_shared<const text_tokenizer>(std::move(parts)), std::move(hash)};
  } catch (const unsupported_tokenizer& what) {
    throw_file_error(errc::invalid_argument, tokenize_name, name, what.what(),
                     "a tokenizer that leat knows, or the package tokenizers in Python");
  }
}

std::string file_of(const std::string& path) {
  if (path.empty())
    refuse_argument(tokenize_name, "no path of a tokenizer", "that of a tokenizer.json");
  std::error_code failure;
  return std::filesystem::is_directory(path, failure) ? path + "/tokenizer.json" : path;
}

/// A parameter's value as Python writes it.
std::string quoted_value(const std::string& text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = "/:.,+-_~@";
  std::string result;
  for (const auto c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_word =
        (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
    if (is_word || plain.find(c) != std::string_view::npos)
      result += c;
    else
      result.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return result;
}

std::string parameters(const std::string& name, const std::string& hash,
                       const tokenize_options& x) {
  auto text = word("tokenizer", quoted_value(name)) + ' ' + word("hash", hash) + ' '
              + word("field", quoted_value(x.field)) + ' ' + word("into", quoted_value(x.into))
              + ' ' + word("dtype", value_text(x.type)) + ' '
              + word("add_special_tokens", value_text(x.add_special_tokens));
  if (x.max_tokens)
    text += ' ' + word("max_tokens", value_text(*x.max_tokens));
  if (x.keep_text)
    text += ' ' + word("keep_text", "true");
  if (x.encode_special_tokens)
    text += ' ' + word("encode_special_tokens", "true");
  if (!x.encoding.empty())
    text += ' ' + word("encoding", x.encoding);
  return text;
}

void check_type(dtype type, token_id last) {
  visit_type(type, [&](auto zero) {
    using number = decltype(zero);
    if constexpr (!std::is_integral_v<number>)
      refuse_argument(tokenize_name, word("dtype", value_text(type)), "a type of integers");
    else if (last > static_cast<std::uint64_t>(std::numeric_limits<number>::max()))
      refuse_argument(tokenize_name,
                      word("dtype", value_text(type)) + " for tokens up to " + std::to_string(last),
                      "a type that has room for them, such as i32");
  });
}

void check(const tokenize_options& x, const text_tokenizer& by) {
  check_field_name(tokenize_name, x.field);
  check_field_name(tokenize_name, x.into);
  check_type(x.type, by.last_token());
  const auto least = std::max<std::uint64_t>(1, x.add_special_tokens ? by.num_around() : 0);
  if (x.max_tokens && *x.max_tokens < least)
    refuse_argument(tokenize_name, word("max_tokens", value_text(*x.max_tokens)),
                    "at least " + std::to_string(least));
}

} // namespace

/// What one worker turns texts into tokens with.
class worker_tokenizer {
public:
  worker_tokenizer(std::shared_ptr<const text_tokenizer> by, tokenize_options options)
      : by_(std::move(by)), options_(std::move(options)) {}

  /// The tokens of a text in UTF-8, until the next call.
  std::span<const token_id> tokens_of(std::string_view text) {
    free_large(tokens_);
    tokens_.clear();
    by_->encode(text, {options_.add_special_tokens, options_.encode_special_tokens}, scratch_,
                tokens_);
    if (options_.max_tokens && tokens_.size() > *options_.max_tokens)
      cut(static_cast<std::size_t>(*options_.max_tokens));
    return tokens_;
  }

  void run(sample& x) {
    tokens_of(utf8_text_of(x, options_.field));
    if (!options_.keep_text)
      x.erase(options_.field);
    visit_type(options_.type, [&](auto zero) {
      const auto to = x.make_ragged<decltype(zero)>(options_.into, tokens_.size());
      std::transform(tokens_.begin(), tokens_.end(), to.begin(),
                     [](token_id token) { return static_cast<decltype(zero)>(token); });
    });
  }

private:
  /// What comes after a text stays.
  void cut(std::size_t most) {
    const auto after = options_.add_special_tokens ? by_->num_after() : 0;
    const auto surplus = static_cast<std::ptrdiff_t>(tokens_.size() - most);
    const auto end = tokens_.end() - static_cast<std::ptrdiff_t>(after);
    tokens_.erase(end - surplus, end);
  }

  std::shared_ptr<const text_tokenizer> by_;
  tokenize_options options_;
  text_tokenizer::scratch scratch_;
  std::vector<token_id> tokens_;
};

struct token_encoder::content {
  content(const std::string& name, opened_tokenizer from, tokenize_options how)
      : by(std::move(from.by)), text(parameters(name, from.hash, how)), options(std::move(how)) {
    check(options, *by);
  }

  std::shared_ptr<const text_tokenizer> by;
  std::string text;
  tokenize_options options;
  mutable mutex guard;
  mutable worker_tokenizer worker LEAT_GUARDED_BY(guard){by, options};
};

token_encoder::token_encoder(const std::string& tokenizer, tokenize_options options) {
  const auto file = file_of(tokenizer);
  auto from = opened(file, read_whole_file(file, most_file_bytes, tokenize_name), options.encoding);
  content_ = std::make_shared<const content>(tokenizer, std::move(from), std::move(options));
}

token_encoder token_encoder::of_content(const std::string& name, const std::string& content,
                                        tokenize_options options, bool has_nearest_numbers) {
  auto from = opened(name, content, options.encoding, has_nearest_numbers);
  return token_encoder{
      std::make_shared<const token_encoder::content>(name, std::move(from), std::move(options))};
}

std::vector<std::uint32_t> token_encoder::encode(std::string_view text) const {
  check_utf8(text, content_->options.field);
  const mutex_lock lock{content_->guard};
  const auto found = content_->worker.tokens_of(text);
  return {found.begin(), found.end()};
}

std::string token_encoder::decode(std::span<const std::uint32_t> tokens) const {
  return content_->by->decode(tokens);
}

std::uint32_t token_encoder::last_token() const noexcept {
  return content_->by->last_token();
}

map_stage token_encoder::stage() const {
  return {tokenize_name, content_->text, [of = content_] {
            return [worker = std::make_shared<worker_tokenizer>(of->by, of->options)](
                       sample& x, context&) { worker->run(x); };
          }};
}

map_stage tokenize_of_hash(const std::string& path, const std::optional<std::string>& hash,
                           tokenize_options options) {
  auto stage = tokenize(path, std::move(options));
  const std::string_view from{stage.parameters};
  constexpr std::string_view before = " hash=";
  const auto at = from.find(before) + before.size();
  const auto found = from.substr(at, from.find(' ', at) - at);
  if (hash && *hash != found)
    throw_file_error(errc::invalid_argument, tokenize_name, file_of(path),
                     "another tokenizer, with the hash " + std::string{found},
                     "the one with the hash " + *hash);
  return stage;
}

map_stage tokenize(const std::string& tokenizer, tokenize_options options) {
  return token_encoder{tokenizer, std::move(options)}.stage();
}

map_stage tokenize_content(const std::string& name, const std::string& content,
                           tokenize_options options) {
  return token_encoder::of_content(name, content, std::move(options)).stage();
}

} // namespace leat
