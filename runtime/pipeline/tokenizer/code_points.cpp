#include "runtime/pipeline/tokenizer/code_points.hpp"

#include "runtime/pipeline/tokenizer/form_runs.hpp"
#include "runtime/pipeline/tokenizer/unicode_runs.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace leat {

namespace {

constexpr std::array<std::string_view, 30> category_names{
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

constexpr std::uint32_t category_bits = 5;

code_points known_to_unicode_9() {
  std::vector<code_points::range> all;
  for (const auto& x : ranges_of_unicode_9())
    all.emplace_back(x.first, x.last);
  return code_points{std::move(all)};
}

} // namespace

code_points::code_points(char32_t first, char32_t last) : ranges_{{first, last}} {}

code_points::code_points(std::vector<range> ranges) {
  if (!std::is_sorted(ranges.begin(), ranges.end()))
    std::sort(ranges.begin(), ranges.end());
  for (const auto& x : ranges)
    if (!ranges_.empty() && x.first <= ranges_.back().second + 1)
      ranges_.back().second = std::max(ranges_.back().second, x.second);
    else
      ranges_.push_back(x);
}

bool code_points::has(char32_t x) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), x,
                                      [](char32_t of, const range& r) { return of < r.first; });
  return after != ranges_.begin() && x <= std::prev(after)->second;
}

code_points code_points::inverted() const {
  code_points result;
  char32_t next = 0;
  for (const auto& x : ranges_) {
    if (x.first > next)
      result.ranges_.emplace_back(next, x.first - 1);
    next = x.second + 1;
  }
  if (next <= greatest)
    result.ranges_.emplace_back(next, greatest);
  return result;
}

code_points operator|(const code_points& a, const code_points& b) {
  std::vector<code_points::range> all;
  all.reserve(a.ranges_.size() + b.ranges_.size());
  std::merge(a.ranges_.begin(), a.ranges_.end(), b.ranges_.begin(), b.ranges_.end(),
             std::back_inserter(all));
  return code_points{std::move(all)};
}

code_points operator&(const code_points& a, const code_points& b) {
  return (a.inverted() | b.inverted()).inverted();
}

code_points of_category(std::string_view name) {
  std::vector<code_points::range> ranges;
  const auto runs = unicode_runs();
  std::array<bool, category_names.size()> is_named{};
  for (std::size_t i = 0; i < category_names.size(); ++i)
    is_named[i] = category_names[i].starts_with(name);
  for (std::size_t i = 0; i < runs.size() && !name.empty(); ++i) {
    if (!is_named[runs[i] & ((1U << category_bits) - 1)])
      continue;
    const char32_t first = runs[i] >> category_bits;
    const char32_t end =
        i + 1 < runs.size() ? runs[i + 1] >> category_bits : code_points::greatest + 1;
    ranges.emplace_back(first, end - 1);
  }
  return code_points{std::move(ranges)};
}

code_points white_space_points() {
  return code_points{{{0x9, 0xd},
                      {0x20, 0x20},
                      {0x85, 0x85},
                      {0xa0, 0xa0},
                      {0x1680, 0x1680},
                      {0x2000, 0x200a},
                      {0x2028, 0x2029},
                      {0x202f, 0x202f},
                      {0x205f, 0x205f},
                      {0x3000, 0x3000}}};
}

code_points word_points() {
  // Letters that are symbols by their category have the property Alphabetic nonetheless.
  const code_points more{{{0x200c, 0x200d},
                          {0x24b6, 0x24e9},
                          {0x1f130, 0x1f149},
                          {0x1f150, 0x1f169},
                          {0x1f170, 0x1f189}}};
  return of_category("L") | of_category("M") | of_category("Nd") | of_category("Nl")
         | of_category("Pc") | more;
}

code_points punctuation_of_package() {
  const code_points ascii{{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}};
  const code_points no_longer{{{0x166d, 0x166d}, {0x111c9, 0x111c9}}};
  const code_points later{{{0x61d, 0x61d},
                           {0x9fd, 0xa76},
                           {0xc77, 0xc84},
                           {0x1b4e, 0x1b4f},
                           {0x1b7d, 0x1b7f},
                           {0x2e43, 0x2e5d},
                           {0x10d6e, 0x10f89},
                           {0x113d4, 0x1145d},
                           {0x11660, 0x116b9},
                           {0x1183b, 0x11fff},
                           {0x12ff1, 0x12ff2},
                           {0x16d6d, 0x16fe2},
                           {0x1e5ff, 0x1e95f}}};
  return (of_category("P") & later.inverted()) | ascii | no_longer;
}

code_points numbers_of_package() {
  const code_points later{{{0x11de0, 0x11de9}, {0x16ff4, 0x16ff6}}};
  return of_category("N") | later;
}

code_points marks_of_package() {
  const code_points not_yet{0x111c9, 0x111c9};
  const code_points no_longer{0x1cf2, 0x1cf3};
  return (of_category("M") & known_to_unicode_9() & not_yet.inverted()) | no_longer;
}

code_points marks_of_bert() {
  const code_points later{{{0x8d4, 0x8e1},
                           {0x1885, 0x1886},
                           {0x1dfb, 0x1dfb},
                           {0xa8c5, 0xa8c5},
                           {0xa9bd, 0xa9bd},
                           {0x111c9, 0x111c9},
                           {0x1123e, 0x1123e},
                           {0x11438, 0x11446},
                           {0x11c30, 0x11cb6},
                           {0x1e000, 0x1e02a},
                           {0x1e944, 0x1e94a}}};
  const code_points no_longer{{{0x1734, 0x1734}, {0x1171e, 0x1171e}}};
  return (of_category("Mn") & known_to_unicode_9() & later.inverted()) | no_longer;
}

code_points control_of_package() {
  const code_points kept{{{'\t', '\n'},
                          {'\r', '\r'},
                          {0x890, 0x891},
                          {0x8e2, 0x8e2},
                          {0x110cd, 0x110cd},
                          {0x13430, 0x1343f}}};
  const code_points more{0xfffd, 0xfffd};
  return ((of_category("Cc") | of_category("Cf") | of_category("Co")) & kept.inverted()) | more;
}

code_points ideographs_of_bert() {
  return code_points{{{0x3400, 0x4dbf},
                      {0x4e00, 0x9fff},
                      {0xf900, 0xfaff},
                      {0x20000, 0x2a6df},
                      {0x2a700, 0x2b81f},
                      {0x2b920, 0x2ceaf},
                      {0x2f800, 0x2fa1f}}};
}

void append_utf8(std::string& to, char32_t x) {
  const auto add = [&](char32_t byte) {
    to += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (x < 0x80) {
    add(x);
  } else if (x < 0x800) {
    add(0xc0 | x >> 6);
    add(0x80 | (x & 0x3f));
  } else if (x < 0x10000) {
    add(0xe0 | x >> 12);
    add(0x80 | (x >> 6 & 0x3f));
    add(0x80 | (x & 0x3f));
  } else {
    add(0xf0 | x >> 18);
    add(0x80 | (x >> 12 & 0x3f));
    add(0x80 | (x >> 6 & 0x3f));
    add(0x80 | (x & 0x3f));
  }
}

} // namespace leat
