#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <optional>
#include <string>
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
/// not empty and has no spaces. Reads no sample.
LEAT_API filter_stage key_matches(std::string pattern);

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

/// Keeps the first `length` elements, at least 1, of a field of rank 1 or bytes; a shorter field
/// stays as it is. Of bytes, a character of UTF-8 that would be cut is left out as a whole.
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

} // namespace leat
