#include "runtime/pipeline/tokenizer/split_automaton.hpp"

#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_steps = 10'000;
constexpr std::size_t most_parts = 10 * most_steps;
constexpr std::size_t most_states = 10'000;
constexpr std::size_t most_columns = 255;

} // namespace

/// A step of the program that a pattern is compiled to.
struct pattern_step {
  enum class kind : std::uint8_t { character, ahead, fork, done };
  kind is;
  /// For `character` and `ahead`: which of the sets.
  std::size_t set = 0;
  bool at_end = false;
  std::size_t next = 0;
  /// For `fork`: the other way, tried second.
  std::size_t other = 0;
};

class pattern_compiler {
public:
  explicit pattern_compiler(const split_pattern& of) {
    entry = compile(of, add({.is = pattern_step::kind::done}));
  }

  std::vector<pattern_step> steps;
  std::map<code_points, std::size_t> sets;
  std::size_t entry = 0;

private:
  std::size_t add(pattern_step x) {
    if (steps.size() == most_steps)
      throw unsupported_tokenizer("a pattern that takes too many steps");
    steps.push_back(x);
    return steps.size() - 1;
  }

  std::size_t set_of(const code_points& x) { return sets.emplace(x, sets.size()).first->second; }

  /// Returns the first pattern_step of a part, after which `next` comes.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern, which has a limit
  std::size_t compile(const split_pattern& x, std::size_t next) {
    if (++parts_ > most_parts) // repeated groups that are empty take no steps
      throw unsupported_tokenizer("a pattern that takes too many steps");
    switch (x.is) {
    case split_pattern::kind::character:
      return add({.is = pattern_step::kind::character, .set = set_of(x.set), .next = next});
    case split_pattern::kind::ahead:
      return add({.is = pattern_step::kind::ahead,
                  .set = set_of(x.set),
                  .at_end = x.at_end,
                  .next = next});
    case split_pattern::kind::sequence:
      for (auto part = x.parts.rbegin(); part != x.parts.rend(); ++part)
        next = compile(*part, next);
      return next;
    case split_pattern::kind::choice: {
      auto first = compile(x.parts.back(), next);
      for (auto part = std::next(x.parts.rbegin()); part != x.parts.rend(); ++part)
        first = add({.is = pattern_step::kind::fork, .next = compile(*part, next), .other = first});
      return first;
    }
    case split_pattern::kind::repeat:
      break;
    }
    return repeat(x, next);
  }

  std::size_t parts_ = 0;

  pattern_step fork_of(const split_pattern& x, std::size_t body, std::size_t after) const {
    return x.is_lazy ? pattern_step{.is = pattern_step::kind::fork, .next = after, .other = body}
                     : pattern_step{.is = pattern_step::kind::fork, .next = body, .other = after};
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  std::size_t repeat(const split_pattern& x, std::size_t next) {
    const auto& body = x.parts.front();
    auto first = next;
    if (x.max == split_pattern::no_limit) {
      const auto loop = add({.is = pattern_step::kind::fork});
      steps[loop] = fork_of(x, compile(body, loop), next);
      first = loop;
    } else {
      for (auto i = x.min; i < x.max; ++i)
        first = add(fork_of(x, compile(body, first), next));
    }
    for (std::size_t i = 0; i < x.min; ++i)
      first = compile(body, first);
    return first;
  }
};

/// A state is the list of steps at which the program may be, the preferred first. What is decided
/// by a look at the next character, or at the text's end, is decided when a move is made.
class split_automaton::builder {
public:
  builder(const split_pattern& pattern, split_automaton& to) : program_(pattern), to_(to) {}

  void build() {
    make_columns();
    state_of({}); // dead
    state_of({program_.entry});
    for (std::size_t i = 0; i < lists_.size(); ++i)
      for (std::size_t column = 0; column < to_.columns_; ++column) {
        const auto move = i == dead ? std::uint32_t{dead} : move_from(i, column);
        to_.moves_.push_back(move);
      }
    for (std::size_t column = 0; column < to_.columns_; ++column)
      if ((to_.moves_[start * to_.columns_ + column] & matched) != 0)
        throw unsupported_tokenizer("a pattern that matches an empty text");
  }

private:
  using list = std::vector<std::size_t>;
  using range_iterator = std::vector<code_points::range>::const_iterator;
  /// The characters of one column from this one on.
  struct run {
    char32_t begin;
    std::uint8_t column;
  };

  /// The pattern's sets cut the code points into ranges; ranges in the same sets share a column.
  void make_columns() {
    std::vector<char32_t> begins{0};
    for (const auto& [set, number] : program_.sets)
      for (const auto& [first, last] : set.ranges()) {
        begins.push_back(first);
        begins.push_back(last + 1);
      }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    std::map<std::vector<bool>, std::uint8_t> columns;
    in_set_.assign(1, std::vector<bool>(program_.sets.size())); // the text's end is in none
    std::vector<run> runs;
    std::vector<range_iterator> next(program_.sets.size());
    for (const auto& [set, number] : program_.sets)
      next[number] = set.ranges().begin();
    for (const auto begin : begins) {
      if (begin > code_points::greatest)
        break;
      std::vector<bool> in(program_.sets.size());
      for (const auto& [set, number] : program_.sets) {
        auto& range = next[number];
        while (range != set.ranges().end() && range->second < begin)
          ++range;
        in[number] = range != set.ranges().end() && range->first <= begin;
      }
      if (in_set_.size() > most_columns)
        throw unsupported_tokenizer("a pattern with too many classes");
      const auto [found, is_new] = columns.emplace(in, static_cast<std::uint8_t>(in_set_.size()));
      if (is_new)
        in_set_.push_back(in);
      runs.push_back({begin, found->second});
    }
    to_.columns_ = in_set_.size();
    make_pages(runs);
    std::copy_n(to_.pages_[to_.page_of_[0]].begin(), ascii, to_.ascii_.begin());
  }

  /// Most pages have one column, and need not be compared with others.
  void make_pages(const std::vector<run>& runs) {
    std::map<std::array<std::uint8_t, page_size>, std::uint16_t> known;
    std::map<std::uint8_t, std::uint16_t> known_of_one;
    const auto number_of = [&](auto& among, const auto& key, auto make) {
      const auto [found, is_new] =
          among.emplace(key, static_cast<std::uint16_t>(to_.pages_.size()));
      if (is_new)
        to_.pages_.push_back(make());
      return found->second;
    };
    auto at = runs.begin();
    for (char32_t first = 0; first <= code_points::greatest; first += page_size) {
      const auto end = first + page_size;
      while (std::next(at) != runs.end() && std::next(at)->begin <= first)
        ++at;
      std::array<std::uint8_t, page_size> page{};
      if (std::next(at) == runs.end() || std::next(at)->begin >= end) {
        to_.page_of_.push_back(number_of(known_of_one, at->column, [&] {
          page.fill(at->column);
          return page;
        }));
        continue;
      }
      for (auto x = at; x != runs.end() && x->begin < end; ++x)
        std::fill(page.begin() + (std::max(x->begin, first) - first), page.end(), x->column);
      to_.page_of_.push_back(number_of(known, page, [&] { return page; }));
    }
  }

  std::uint32_t state_of(list x) {
    const auto [found, is_new] = states_.emplace(x, static_cast<std::uint32_t>(lists_.size()));
    if (is_new) {
      if (lists_.size() == most_states)
        throw unsupported_tokenizer("a pattern that takes too many states");
      lists_.push_back(std::move(x));
    }
    return found->second;
  }

  std::uint32_t move_from(std::size_t state, std::size_t column) {
    list after;
    std::vector<bool> seen(program_.steps.size());
    std::vector<bool> is_after(program_.steps.size());
    for (const auto first : lists_[state]) {
      list open{first};
      while (!open.empty()) {
        const auto at = open.back();
        open.pop_back();
        if (seen[at])
          continue;
        seen[at] = true;
        const auto& x = program_.steps[at];
        switch (x.is) {
        case pattern_step::kind::done: // whatever is less preferred does not count any more
          return state_of(std::move(after)) | matched;
        case pattern_step::kind::fork:
          open.push_back(x.other);
          open.push_back(x.next);
          break;
        case pattern_step::kind::ahead:
          if (column == end_column ? x.at_end : in_set_[column][x.set])
            open.push_back(x.next);
          break;
        case pattern_step::kind::character:
          if (column != end_column && in_set_[column][x.set] && !is_after[x.next]) {
            is_after[x.next] = true;
            after.push_back(x.next);
          }
          break;
        }
      }
    }
    return state_of(std::move(after));
  }

  pattern_compiler program_;
  split_automaton& to_;
  /// By column: which sets its characters are in.
  std::vector<std::vector<bool>> in_set_;
  std::vector<list> lists_;
  std::map<list, std::uint32_t> states_;
};

split_automaton::split_automaton(const split_pattern& pattern) {
  builder{pattern, *this}.build();
}

} // namespace leat
