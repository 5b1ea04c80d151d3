#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace leat {

// Predicates, flat_maps, scans and maps on ids, fields and sizes, for `pipeline::filter`, ...
// docs/iterators.md defines each to the last bit. In the text form they have their names,
// `key_hash@1`, and these arguments. All throw `errc::invalid_argument` for values out of range,
// and for names of fields that are empty or contain spaces or commas. Unless stated otherwise, a
// sample without the field is bad (missing_field), and so is one whose field has the wrong form
// (wrong_shape).

/// Keeps about `keep` percent of the samples, 0 to 100, by a hash of their ids; `salt` decides
/// which ones. They are the same in every epoch. Reads no sample.
LEAT_API filter_stage key_hash(std::uint64_t keep, std::uint64_t salt = 0);

/// Keeps samples whose ids match a pattern, byte by byte: `*` stands for any bytes, `/` too, `?`
/// for one, `[a-z]` for one of these, `[!a-z]` for another one; all else for itself. The pattern is
/// not empty and has no spaces. With `invert`: the others. Reads no sample.
LEAT_API filter_stage key_matches(std::string pattern, bool invert = false);

/// As `key_hash`, by a hash of the field's bytes: equal content is kept or dropped together.
LEAT_API filter_stage field_hash(const std::string& field, std::uint64_t keep,
                                 std::uint64_t salt = 0);

/// Keeps samples whose field is a number within these bounds, both inclusive; either may be left
/// out. The number is a tensor of rank 0, or bytes that are a decimal number (otherwise: corrupt).
/// Compared as double; NaN is outside all bounds.
LEAT_API filter_stage field_between(const std::string& field, std::optional<double> min,
                                    std::optional<double> max);

/// Keeps samples whose field has a number of bytes within these bounds, both inclusive; either may
/// be left out.
LEAT_API filter_stage bytes_between(const std::string& field, std::optional<std::uint64_t> min,
                                    std::optional<std::uint64_t> max);

/// As `bytes_between`, but counts the elements of a field of rank 1 or bytes: tokens, say.
LEAT_API filter_stage length_between(const std::string& field, std::optional<std::uint64_t> min,
                                     std::optional<std::uint64_t> max);

/// Bounds of `text_quality`, all inclusive; one that is not given does not count. docs/iterators.md
/// defines words, characters and lines. Shares are from 0 to 1.
struct text_quality_options {
  /// Number of words.
  std::optional<std::uint64_t> min_words = {};
  std::optional<std::uint64_t> max_words = {};
  /// Mean number of characters of a word.
  std::optional<double> min_word_length = {};
  std::optional<double> max_word_length = {};
  /// Share of letters, of ASCII or not, among characters.
  std::optional<double> min_letters = {};
  /// Shares of digits, and of ASCII's punctuation and symbols, among characters.
  std::optional<double> max_digits = {};
  std::optional<double> max_symbols = {};
  /// Share of words with a letter.
  std::optional<double> min_words_with_letters = {};
  /// Share of lines that repeat an earlier one.
  std::optional<double> max_repeated_lines = {};
  /// Share of lines that end in a full stop or the like.
  std::optional<double> min_ended_lines = {};
  /// Shares of lines that begin with a bullet, and that end in an ellipsis.
  std::optional<double> max_bullet_lines = {};
  std::optional<double> max_ellipsis_lines = {};
};

/// Keeps samples whose text, a field of bytes, is within all these bounds; at least one is given.
/// Every share and mean is 0 if there are no words or lines.
LEAT_API filter_stage text_quality(const std::string& field, const text_quality_options& options);

struct matches_options {
  /// The whole text has to match; otherwise any part of it is enough.
  bool whole = false;
  /// Keeps the samples that do not match.
  bool invert = false;
};

/// Keeps samples whose text, a field of bytes, matches a regular expression of RE2, in time that
/// grows linearly with the text. Text and pattern are UTF-8; bytes that are not match nothing. A
/// build without RE2 refuses this function (errc::invalid_argument).
LEAT_API filter_stage matches(const std::string& field, const std::string& pattern,
                              matches_options options = {});

/// Each sample n times. Reads no sample to count them.
LEAT_API flat_map_stage copies(std::uint64_t n);

/// The parts of a field between bytes of value `at`, one more than there are such bytes: a child
/// has one of them in the field's place, as bytes. `at` is at most 255.
LEAT_API flat_map_stage split(const std::string& field, std::uint64_t at = '\n');

/// A field, of rank 1 or bytes, in pieces of `length` elements, at least 1; the last may be
/// shorter. An empty field has none.
LEAT_API flat_map_stage windows(const std::string& field, std::uint64_t length);

/// As `windows`, but each piece begins `overlap` elements, fewer than `length`, before the end of
/// the one before it. No piece consists only of what the one before it has. Long documents become
/// samples of a model's context this way.
LEAT_API flat_map_stage chunks(const std::string& field, std::uint64_t length,
                               std::uint64_t overlap = 0);

/// Sets `into`, int64: how many samples came before, in the lane and epoch.
LEAT_API scan_stage running_count(const std::string& into);

/// Sets `into`, int64: the sum over `field`, an integer tensor of rank 0, of all samples up to and
/// including this one, in the lane and epoch. Wraps around at 64 bits.
LEAT_API scan_stage running_sum(const std::string& field, const std::string& into);

/// Fills a field, of rank 1 or bytes, up to `length` elements with `value`. A longer field is a bad
/// sample (too_large), and so is one whose type cannot represent the value (wrong_shape).
LEAT_API map_stage pad(const std::string& field, std::uint64_t length, double value = 0);

/// Makes a tensor's elements, of any rank and also ragged, those of another type: integers exactly,
/// floats the nearest ones. Bytes, 16-bit floats, and an element that an integer type cannot
/// represent or that is beyond a float type, make a bad sample (wrong_shape). f16 and bf16 are
/// refused as `to`.
LEAT_API map_stage cast(const std::string& field, dtype to);

/// Keeps the first `length` elements, at least 1, of a field of rank 1 or bytes; a shorter field
/// stays as it is. In bytes, a character of UTF-8 that would be cut is left out as a whole.
LEAT_API map_stage truncate(const std::string& field, std::uint64_t length);

/// Removes fields. One that a sample does not have is no error.
LEAT_API map_stage drop_fields(std::vector<std::string> fields);

/// Sets `into` to the elements of these fields, at least one, one field after the other: all bytes,
/// or all of rank 1 and of one type (otherwise: wrong_shape). With `between`, one element of this
/// value comes between two fields: 10 for a line feed, or a token. It must be a value of the type
/// (wrong_shape). Other fields stay; a field of the name `into` is replaced. Tensors become ragged
/// where one of them is.
LEAT_API map_stage concat_fields(std::vector<std::string> fields, const std::string& into,
                                 std::optional<std::uint64_t> between = {});

/// Makes a tensor ragged: its outermost dimension may differ in every sample, and the batch has
/// values and offsets (`batch::field`). Bytes and fields that are ragged already stay as they are.
/// A tensor of rank 0, or one whose elements have no bytes, is a bad sample (wrong_shape).
LEAT_API map_stage ragged(const std::string& field);

// Maps for text and tokens.

/// Puts elements before and after those of a field of rank 1 or bytes, which keeps its kind: tokens
/// that begin and end a document. At least one of the two is not empty. A type that cannot
/// represent one of them makes a bad sample (wrong_shape).
LEAT_API map_stage add_tokens(const std::string& field, std::vector<std::int64_t> begin,
                              std::vector<std::int64_t> end = {});

/// Sets a field where a sample lacks it, to what `json_lines` would have made of the value: u8 for
/// true and false, int64, float64 (finite), each of rank 0, or bytes. With a value that is no text,
/// a field of the bytes `null` counts as lacking. Any other field stays as it is, whatever its
/// type.
LEAT_API map_stage default_field(const std::string& field,
                                 std::variant<bool, std::int64_t, double, std::string> value);

struct loss_mask_options {
  /// The tokens that an answer follows, at least one: "<|assistant|>".
  std::vector<std::int64_t> begin;
  /// The tokens that it ends with; empty: it reaches to the end of the field.
  std::vector<std::int64_t> end = {};
  /// These tokens belong to the answer: a model has to learn to end it.
  bool include_end = true;
  std::string into = "loss_mask";
};

/// Sets `into`, uint8, with as many elements as `field` (rank 1, or bytes): 1 for those of answers,
/// 0 for all others. An answer begins after `begin` and ends at the first `end` after that, or with
/// the field; the next one is looked for after it. The mask is ragged if the field is. A type that
/// cannot represent one of the tokens makes a bad sample (wrong_shape).
LEAT_API map_stage loss_mask(const std::string& field, loss_mask_options options);

struct sentencepiece_options {
  /// The text, bytes in UTF-8.
  std::string field = "text";
  std::string into = "tokens";
  /// The text stays; otherwise it is removed.
  bool keep_text = false;
  /// Adds the model's token for the beginning or the end of a text.
  bool begin = false;
  bool end = false;
};

/// Sets `into`, int32, ragged [number of tokens], to the tokens of the text, as SentencePiece's
/// `encode` gives them for this model: a file that SentencePiece wrote (unigram, BPE, words or
/// characters), which is read in this call. Its hash is part of the map, and so of snapshots: a
/// restore with another model is refused. Throws `errc::not_found` and `errc::io`, and
/// `errc::invalid_argument` for a file that is no such model. Text that is not UTF-8 is a bad
/// sample (corrupt).
LEAT_API map_stage sentencepiece(const std::string& model, sentencepiece_options options = {});

/// What becomes of white space: space, tab, line feed, vertical tab, form feed, carriage return.
enum class white_space : std::uint8_t {
  keep,
  /// Line feeds stay. All other runs of it become one space, and go at both ends of a line.
  lines,
  /// Each run of it becomes one space.
  all,
};

/// The normalization forms of Unicode.
enum class unicode_form : std::uint8_t {
  /// The characters stay as they are.
  keep,
  nfc,
  nfd,
  nfkc,
  nfkd,
};

struct normalize_text_options {
  white_space spaces = white_space::lines;
  /// Removes white space from both ends.
  bool trim = true;
  /// Carriage returns, with a line feed after them or not, become a line feed.
  bool line_ends = true;
  /// Removes the bytes 0 to 31 and 127, but for tab, line feed and carriage return.
  bool control = true;
  /// The letters A to Z become a to z.
  bool lower = false;
  /// Which characters stand for the same text. Bytes that are not UTF-8 stay as they are, and what
  /// lies between them is a text of its own. Other forms than `keep` treat characters as the
  /// version of Unicode that utf8proc knows: one that is not assigned there yet stays.
  unicode_form unicode = unicode_form::keep;
};

/// Normalizes a field of bytes. In this order: `unicode`, `line_ends`, `control`, `lower`,
/// `spaces`, `trim`; for all but the first, only ASCII counts, and all other bytes stay.
LEAT_API map_stage normalize_text(const std::string& field, normalize_text_options options = {});

} // namespace leat
