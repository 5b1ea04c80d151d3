#include "runtime/base/number_as.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/text_counts.hpp"
#include "runtime/pipeline/functions/unicode_text.hpp"

#include <leat/functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leat {

namespace {

using numbers = std::vector<std::int64_t>;

/// The numbers as elements of the field; throws `bad_sample` (wrong_shape) if its type cannot
/// represent one of them.
template <class T>
std::vector<T> as_elements(const numbers& all, std::string_view field) {
  std::vector<T> elements;
  elements.reserve(all.size());
  for (const auto x : all)
    elements.push_back(element_of<T>(x, field));
  return elements;
}

template <class T>
std::span<std::byte> put(const std::vector<T>& elements, std::span<std::byte> to) {
  const auto bytes = std::as_bytes(std::span{elements});
  std::copy(bytes.begin(), bytes.end(), to.begin());
  return to.subspan(bytes.size());
}

void add_around(sample& x, const std::string& field, const numbers& begin, const numbers& end) {
  const auto old = elements_of(x, field);
  visit_type(old.type, [&](auto zero) {
    const auto before = as_elements<decltype(zero)>(begin, field);
    const auto after = as_elements<decltype(zero)>(end, field);
    auto to = put(before, make_elements(x, field, old, before.size() + old.size() + after.size()));
    std::copy(old.data.begin(), old.data.end(), to.begin());
    put(after, to.subspan(old.data.size()));
  });
}

/// The bytes `null` are no number, so that a default which is one takes their place.
bool is_lacking(const sample& x, const std::string& field, bool is_text) {
  return !x.has(field) || (!is_text && x.is_bytes(field) && x.text(field) == "null");
}

/// Sets the elements of answers in `mask`, which is all 0, to 1.
template <class T>
void mark_answers(std::span<const T> all, std::span<const T> begin, std::span<const T> end,
                  bool include_end, std::span<std::byte> mask) {
  const auto place = [&](auto x) { return static_cast<std::size_t>(x - all.begin()); };
  for (auto at = all.begin(); at != all.end();) {
    const auto opened = std::search(at, all.end(), begin.begin(), begin.end());
    if (opened == all.end())
      return;
    const auto first = opened + static_cast<std::ptrdiff_t>(begin.size());
    const auto closed =
        end.empty() ? all.end() : std::search(first, all.end(), end.begin(), end.end());
    at = closed == all.end() ? closed : closed + static_cast<std::ptrdiff_t>(end.size());
    const auto last = include_end ? at : closed;
    std::fill(mask.begin() + static_cast<std::ptrdiff_t>(place(first)),
              mask.begin() + static_cast<std::ptrdiff_t>(place(last)), std::byte{1});
  }
}

void set_mask(sample& x, const std::string& field, const loss_mask_options& options) {
  const auto of = elements_of(x, field);
  visit_type(of.type, [&](auto zero) {
    using type = decltype(zero);
    const auto begin = as_elements<type>(options.begin, field);
    const auto end = as_elements<type>(options.end, field);
    std::vector<type> all(of.size()); // the field's bytes need not be aligned
    if (!all.empty())
      std::memcpy(all.data(), of.data.data(), of.data.size());
    const auto mask = make_elements(x, options.into, {dtype::u8, of.is_ragged, {}}, all.size());
    std::fill(mask.begin(), mask.end(), std::byte{0});
    mark_answers<type>(all, begin, end, options.include_end, mask);
  });
}

bool is_control(char x) {
  const auto byte = static_cast<unsigned char>(x);
  return byte == 0x7f || (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r');
}

/// The text with what `options` says of single characters and line ends.
std::string with_plain_characters(std::string_view text, const normalize_text_options& options) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = text[i];
    if (options.line_ends && c == '\r') {
      c = '\n';
      i += i + 1 < text.size() && text[i + 1] == '\n' ? 1 : 0;
    }
    if (options.control && is_control(c))
      continue;
    if (options.lower && c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    result += c;
  }
  return result;
}

/// Each run of white space as one space; with `lines`, line feeds stay and have none around them.
std::string collapsed(std::string_view text, white_space how) {
  std::string result;
  result.reserve(text.size());
  bool gap = false;
  for (const auto c : text) {
    if (how == white_space::lines && c == '\n') {
      result += c;
      gap = false;
    } else if (is_white_space(c)) {
      gap = how == white_space::all || (!result.empty() && result.back() != '\n');
    } else {
      result += gap ? " " : "";
      result += c;
      gap = false;
    }
  }
  // What ends the text stands before no other character: in lines it goes, as at every line's end.
  return gap && how == white_space::all ? result + ' ' : result;
}

void normalize_field(sample& x, const std::string& field, const normalize_text_options& options) {
  const auto characters = normal_form(text_of(x, field), options.unicode);
  auto text = with_plain_characters(characters, options);
  if (options.spaces != white_space::keep)
    text = collapsed(text, options.spaces);
  x.set(field, options.trim ? without_outer_space(text) : std::string_view{text});
}

} // namespace

map_stage add_tokens(const std::string& field, std::vector<std::int64_t> begin,
                     std::vector<std::int64_t> end) {
  const auto type = function_types::add_tokens();
  auto text = parameters_of(type, field, begin, end);
  if (begin.empty() && end.empty())
    refuse_argument(type.name, "neither begin nor end", "at least one of them");
  return {type.name, std::move(text), [field, begin = std::move(begin), end = std::move(end)] {
            return [=](sample& x, context&) { add_around(x, field, begin, end); };
          }};
}

map_stage default_field(const std::string& field,
                        std::variant<bool, std::int64_t, double, std::string> value) {
  const auto type = function_types::default_field();
  auto text = parameters_of(type, field, value);
  const auto* real = std::get_if<double>(&value);
  if (real && !std::isfinite(*real))
    refuse_argument(type.name, "value=" + number_text(*real), "a finite number");
  return {type.name, std::move(text), [=] {
            return [=](sample& x, context&) {
              if (is_lacking(x, field, std::holds_alternative<std::string>(value)))
                std::visit([&](const auto& of) { x.set(field, of); }, value);
            };
          }};
}

map_stage loss_mask(const std::string& field, loss_mask_options options) {
  const auto type = function_types::loss_mask();
  auto text =
      parameters_of(type, field, options.begin, options.end, options.include_end, options.into);
  if (options.begin.empty())
    refuse_argument(type.name, "no begin", "at least one token that an answer follows");
  return {type.name, std::move(text), [field, options = std::move(options)] {
            return [=](sample& x, context&) { set_mask(x, field, options); };
          }};
}

map_stage normalize_text(const std::string& field, normalize_text_options options) {
  const auto type = function_types::normalize_text();
  return {type.name,
          parameters_of(type, field, options.spaces, options.trim, options.line_ends,
                        options.control, options.lower, options.unicode),
          [=] { return [=](sample& x, context&) { normalize_field(x, field, options); }; }};
}

} // namespace leat
