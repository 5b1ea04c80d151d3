#pragma once

#include "runtime/pipeline/tokenizer/split_automaton.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// What becomes of the places that a pattern matches, beside what lies between them.
enum class split_rule : std::uint8_t {
  isolated,
  removed,
  /// Neighbours of one kind are one part.
  contiguous,
  with_previous,
  with_next,
};

/// One step on the way from a text to the parts that a model takes.
struct split_step {
  std::shared_ptr<const split_automaton> by;
  split_rule rule = split_rule::isolated;
  /// What matches changes places with what does not.
  bool is_inverted = false;

  /// Calls `take` with the parts of a text, none of them empty, in their order.
  template <class Take>
  void run(std::string_view text, Take take) const {
    if (rule == split_rule::isolated)
      each(text, [&](std::string_view part, bool) { take(part); });
    else if (rule == split_rule::removed)
      each(text, [&](std::string_view part, bool is_match) {
        if (is_match == is_inverted)
          take(part);
      });
    else
      joined(text, take);
  }

private:
  /// The matches, and all that lies between them.
  template <class Take>
  void each(std::string_view text, Take take) const {
    const auto* const end = text.data() + text.size();
    const auto* gap = text.data();
    for (const auto* at = gap; at != end;) {
      const auto size = by->match(at, end);
      if (size == 0) {
        at += decode_character(at).size;
        continue;
      }
      if (gap != at)
        take({gap, static_cast<std::size_t>(at - gap)}, false);
      take({at, size}, true);
      at += size;
      gap = at;
    }
    if (gap != end)
      take({gap, static_cast<std::size_t>(end - gap)}, false);
  }

  template <class Take>
  void joined(std::string_view text, Take take) const {
    std::string_view open; // a part that may become longer
    bool open_matches = false;
    const auto close = [&] {
      if (!open.empty())
        take(open);
    };
    each(text, [&](std::string_view part, bool matches) {
      matches = matches != is_inverted;
      // Of two matches in a row, the further one from what they would join stands alone.
      const bool joins = rule == split_rule::contiguous      ? matches == open_matches
                         : rule == split_rule::with_previous ? matches && !open_matches
                                                             : open_matches && !matches;
      if (joins && !open.empty()) {
        open = {open.data(), open.size() + part.size()};
      } else {
        close();
        open = part;
      }
      open_matches = matches;
    });
    close();
  }
};

} // namespace leat
