#pragma once

#include <leat/graph.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat::command {

enum class box_kind : std::uint8_t {
  /// A round: it contains an iterator and a function.
  round,
  /// A step of an iterator, without and with a state.
  step,
  stateful_step,
  function,
  batch,
};

/// Lengths are pixels; x grows to the right, y down.
struct drawn_box {
  box_kind kind = box_kind::step;
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  /// The first one is its title.
  std::vector<std::string> lines = {};
};

/// From the bottom of one box to the top of another.
struct drawn_arrow {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
};

struct drawing {
  double width = 0;
  double height = 0;
  /// A round comes before what is in it.
  std::vector<drawn_box> boxes = {};
  std::vector<drawn_arrow> arrows = {};
};

inline constexpr double char_width = 7.3;
inline constexpr double line_height = 16;
/// Space between a box and its text.
inline constexpr double box_margin = 8;

/// Number of characters of a text in UTF-8.
std::size_t length_of(const std::string& text);
/// Breaks a text at spaces into lines of at most `longest` bytes; a longer word stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t longest);

/// Places all parts of the graph: data flow down, branches are side by side, a round is above the
/// step that takes it. The upper left corner is at (0, 0).
drawing lay_out(const plan_graph& x);

} // namespace leat::command
