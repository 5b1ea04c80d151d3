#include "runtime/pipeline/tokenizer/text_form.hpp"

#include "runtime/pipeline/tokenizer/code_points.hpp"
#include "runtime/pipeline/tokenizer/form_runs.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace leat {

namespace {

/// What is known of a character: its combining class, and these.
constexpr std::uint16_t class_bits = 0xff;
/// It has a canonical decomposition, or a compatible one.
constexpr std::uint16_t falls_apart = 1U << 8;
constexpr std::uint16_t falls_apart_compatibly = 1U << 9;
/// It does not stand in a composed text, or joins what comes before it.
constexpr std::uint16_t changes_composed = 1U << 10;
constexpr std::uint16_t changes_compatibly = 1U << 11;

constexpr unsigned page_bits = 8;
constexpr std::size_t page_size = std::size_t{1} << page_bits;

constexpr char32_t syllables = 0xac00;
constexpr char32_t num_syllables = 11172;
constexpr char32_t leads = 0x1100;
constexpr char32_t num_leads = 19;
constexpr char32_t vowels = 0x1161;
constexpr char32_t num_vowels = 21;
constexpr char32_t before_tails = 0x11a7;
constexpr char32_t num_tails = 28;

constexpr std::uint64_t pair_of(char32_t a, char32_t b) {
  return std::uint64_t{a} << 32 | b;
}

/// All that a form needs to know, made once.
class form_table {
public:
  form_table() {
    for (const auto& x : ranges_of_unicode_9())
      for (auto c = x.first; c <= x.last; ++c)
        if (c < 0xd800 || c >= 0xe000)
          learn(c);
    learn_pairs();
    for (char32_t c = vowels; c < vowels + num_vowels; ++c)
      at(c) |= changes_composed | changes_compatibly;
    for (char32_t c = before_tails + 1; c < before_tails + num_tails; ++c)
      at(c) |= changes_composed | changes_compatibly;
  }

  std::uint16_t of(char32_t c) const noexcept {
    return pages_[page_of_[c >> page_bits]][c & (page_size - 1)];
  }

  /// Two characters as one; 0 if they are none.
  char32_t joined(char32_t a, char32_t b) const {
    if (a - leads < num_leads && b - vowels < num_vowels)
      return syllables + ((a - leads) * num_vowels + (b - vowels)) * num_tails;
    if (a - syllables < num_syllables && (a - syllables) % num_tails == 0
        && b - before_tails - 1 < num_tails - 1)
      return a + (b - before_tails);
    const auto found = pairs_.find(pair_of(a, b));
    return found == pairs_.end() ? 0 : found->second;
  }

  /// A character's parts, down to those that have none.
  static std::span<const utf8proc_int32_t> parts(char32_t c, bool compatible,
                                                 std::array<utf8proc_int32_t, 32>& in) {
    int last_class = 0;
    const auto n = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(c), in.data(), static_cast<utf8proc_ssize_t>(in.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0)),
        &last_class);
    if (n < 1 || static_cast<std::size_t>(n) > in.size())
      throw std::logic_error("a character of more than 32 others");
    return std::span{in}.first(static_cast<std::size_t>(n));
  }

private:
  struct composite {
    char32_t whole;
    std::vector<char32_t> parts;
  };

  std::uint16_t& at(char32_t c) {
    auto& page = page_of_[c >> page_bits];
    if (page == 0) {
      page = static_cast<std::uint16_t>(pages_.size());
      pages_.emplace_back();
    }
    return pages_[page][c & (page_size - 1)];
  }

  void learn(char32_t c) {
    const auto* const known = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    auto is = static_cast<std::uint16_t>(known->combining_class & class_bits);
    std::array<utf8proc_int32_t, 32> place{};
    const auto is_itself = [&](std::span<const utf8proc_int32_t> x) {
      return x.size() == 1 && static_cast<char32_t>(x[0]) == c;
    };
    if (!is_itself(parts(c, true, place)))
      is |= falls_apart_compatibly;
    if ((is & falls_apart_compatibly) != 0)
      if (const auto all = parts(c, false, place); !is_itself(all)) {
        is |= falls_apart;
        if (!(c - syllables < num_syllables))
          composites_.push_back({c, {all.begin(), all.end()}});
      }
    if ((is & falls_apart) == 0 && (is & falls_apart_compatibly) != 0)
      is |= changes_compatibly;
    if (is != 0)
      at(c) = is;
  }

  /// Pairs that become one character, from those of few parts to those of many.
  void learn_pairs() {
    std::stable_sort(composites_.begin(), composites_.end(),
                     [](const auto& a, const auto& b) { return a.parts.size() < b.parts.size(); });
    for (const auto& x : composites_) {
      if (!comes_back(x.whole)) {
        at(x.whole) |= changes_composed | changes_compatibly;
        continue;
      }
      auto first = x.parts[0];
      for (std::size_t i = 1; i + 1 < x.parts.size(); ++i)
        first = joined(first, x.parts[i]);
      if (first == 0)
        throw std::logic_error("a character whose first part is none");
      pairs_.emplace(pair_of(first, x.parts.back()), x.whole);
      at(x.parts.back()) |= changes_composed | changes_compatibly;
      std::array<utf8proc_int32_t, 32> place{};
      const auto compatible = parts(x.whole, true, place);
      if (!std::equal(compatible.begin(), compatible.end(), x.parts.begin(), x.parts.end(),
                      [](auto a, auto b) { return static_cast<char32_t>(a) == b; }))
        at(x.whole) |= changes_compatibly;
    }
    free_all(composites_);
  }

  /// Whether a character's parts become it again.
  static bool comes_back(char32_t c) {
    std::array<utf8proc_int32_t, 32> place{};
    const auto all = parts(c, false, place);
    const auto n = utf8proc_normalize_utf32(
        place.data(), static_cast<utf8proc_ssize_t>(all.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    return n == 1 && static_cast<char32_t>(place[0]) == c;
  }

  std::vector<std::array<std::uint16_t, page_size>> pages_ =
      std::vector<std::array<std::uint16_t, page_size>>(1);
  std::vector<std::uint16_t> page_of_ =
      std::vector<std::uint16_t>((code_points::greatest >> page_bits) + 1);
  std::unordered_map<std::uint64_t, char32_t> pairs_;
  std::vector<composite> composites_;
};

const form_table& table() {
  static const form_table made;
  return made;
}

struct placed_character {
  char32_t code_point;
  std::uint16_t combining;
};

/// Marks in the order of their classes.
void put_in_order(std::vector<placed_character>& all) {
  for (auto at = all.begin(); at != all.end();) {
    const auto is_mark = [](const auto& x) { return x.combining != 0; };
    const auto begin = std::find_if(at, all.end(), is_mark);
    at = std::find_if_not(begin, all.end(), is_mark);
    std::stable_sort(begin, at,
                     [](const auto& a, const auto& b) { return a.combining < b.combining; });
  }
}

void compose(std::vector<placed_character>& all) {
  constexpr auto none = static_cast<std::size_t>(-1);
  std::size_t starter = none;
  std::size_t n = 0;
  for (const auto& x : all) {
    const bool is_near =
        starter != none && (starter + 1 == n || all[n - 1].combining < x.combining);
    if (const auto one = is_near ? table().joined(all[starter].code_point, x.code_point) : 0) {
      all[starter].code_point = one;
      continue;
    }
    if (x.combining == 0)
      starter = n;
    all[n++] = x;
  }
  all.resize(n);
}

/// The end of the ASCII characters that `at` begins with.
const char* end_of_ascii(const char* at, const char* end) {
  constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080;
  while (end - at >= 8) {
    std::uint64_t x = 0;
    std::memcpy(&x, at, sizeof x);
    if ((x & high_bits) != 0)
      break;
    at += sizeof x;
  }
  while (at != end && static_cast<unsigned char>(*at) < 0x80)
    ++at;
  return at;
}

/// By letter: what is added for its small one.
class letter_table {
public:
  letter_table() {
    for (const auto& run : runs_of_letters())
      for (auto c = run.first; c <= run.last; c += run.step)
        by_.emplace(c, run.by);
  }
  std::int32_t of(char32_t c) const {
    const auto found = by_.find(c);
    return found == by_.end() ? 0 : found->second;
  }

private:
  std::unordered_map<char32_t, std::int32_t> by_;
};

} // namespace

text_form::text_form(bool is_composed, bool is_compatible)
    : is_composed_(is_composed), is_compatible_(is_compatible),
      changes_(is_composed ? (is_compatible ? changes_compatibly : changes_composed)
                           : (is_compatible ? falls_apart_compatibly : falls_apart)) {}

std::string_view text_form::apply(std::string_view text, std::string& to) const {
  const auto* const end = text.data() + text.size();
  const auto& known = table();
  const auto* done = text.data();  // what stands before it is in `to`
  const auto* start = text.data(); // nothing before it changes with what comes
  std::uint16_t last_class = 0;
  to.clear();
  for (const auto* at = text.data(); at != end;) {
    if (static_cast<unsigned char>(*at) < 0x80) {
      at = end_of_ascii(at, end);
      start = at - 1;
      last_class = 0;
      continue;
    }
    const auto x = decode_character(at);
    const auto is = known.of(x.code_point);
    const auto combining = static_cast<std::uint16_t>(is & class_bits);
    if ((is & changes_) == 0 && (combining == 0 || combining >= last_class)) {
      if (combining == 0)
        start = at;
      last_class = combining;
      at += x.size;
      continue;
    }
    // From `start` to the next character that nothing before it changes.
    auto* next = at + x.size;
    while (next != end) {
      const auto y = decode_character(next);
      if ((known.of(y.code_point) & (changes_ | class_bits)) == 0)
        break;
      next += y.size;
    }
    to.append(done, start);
    append({start, static_cast<std::size_t>(next - start)}, to);
    done = start = at = next;
    last_class = 0;
  }
  if (done == text.data())
    return text;
  to.append(done, end);
  return to;
}

void text_form::append(std::string_view text, std::string& to) const {
  const auto apart = is_compatible_ ? falls_apart_compatibly : falls_apart;
  std::vector<placed_character> all;
  std::array<utf8proc_int32_t, 32> place{};
  while (!text.empty()) {
    const auto x = decode_character(text.data());
    const auto is = table().of(x.code_point);
    if ((is & apart) == 0)
      all.push_back({x.code_point, static_cast<std::uint16_t>(is & class_bits)});
    else
      for (const auto part : form_table::parts(x.code_point, is_compatible_, place)) {
        const auto c = static_cast<char32_t>(part);
        all.push_back({c, static_cast<std::uint16_t>(table().of(c) & class_bits)});
      }
    text.remove_prefix(x.size);
  }
  put_in_order(all);
  if (is_composed_)
    compose(all);
  for (const auto& x : all)
    append_utf8(to, x.code_point);
}

std::string_view with_small_letters(std::string_view text, std::string& to) {
  static const letter_table letters;
  constexpr char32_t dotted = 0x130; // the only letter with two small ones
  to.clear();
  const auto* const end = text.data() + text.size();
  for (const auto* at = text.data(); at != end;) {
    if (const auto byte = static_cast<unsigned char>(*at); byte < 0x80) {
      to += static_cast<char>(byte + (byte >= 'A' && byte <= 'Z' ? 'a' - 'A' : 0));
      ++at;
      continue;
    }
    const auto x = decode_character(at);
    if (const auto by = letters.of(x.code_point); by != 0)
      append_utf8(to, static_cast<char32_t>(static_cast<std::int32_t>(x.code_point) + by));
    else if (x.code_point == dotted)
      to += "i\u0307";
    else
      to.append(at, x.size);
    at += x.size;
  }
  return to;
}

} // namespace leat
