#include "tools/leat/graph/graph_layout.hpp"

#include "tools/leat/graph/graph_text.hpp"

#include <algorithm>
#include <utility>

namespace leat::command {

namespace {

/// Space between boxes that are side by side, or above one another.
constexpr double gap = 28;
/// Characters of a line; longer ones are cut.
constexpr std::size_t longest_line = 80;

std::string cut(const std::string& text) {
  if (length_of(text) <= longest_line)
    return text;
  std::size_t bytes = 0;
  for (std::size_t characters = 0; characters < longest_line - 3; ++characters)
    do
      ++bytes;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80);
  return text.substr(0, bytes) + "...";
}

drawn_box box_of(box_kind kind, const std::vector<std::string>& lines) {
  drawn_box box{.kind = kind, .height = 2 * box_margin + line_height * double(lines.size())};
  for (const auto& line : lines) {
    box.lines.push_back(cut(line));
    box.width =
        std::max(box.width, 2 * box_margin + char_width * double(length_of(box.lines.back())));
  }
  return box;
}

double width_of(const std::vector<double>& side_by_side) {
  double width = -gap;
  for (const auto x : side_by_side)
    width += x + gap;
  return std::max(0.0, width);
}

/// Middles of boxes of these widths that stand side by side around a common middle.
std::vector<double> middles_of(const std::vector<double>& widths, double middle) {
  auto left = middle - width_of(widths) / 2;
  std::vector<double> middles;
  for (const auto width : widths) {
    middles.push_back(left + width / 2);
    left += width + gap;
  }
  return middles;
}

drawn_box box_of(const plan_step& x) {
  const auto remark = remark_of(x);
  return box_of(x.state.empty() ? box_kind::step : box_kind::stateful_step,
                remark.empty() ? std::vector{x.call} : std::vector{x.call, remark});
}

drawn_box function_box(const plan_round& x) {
  std::vector lines{function_caption()};
  lines.insert(lines.end(), x.function.begin(), x.function.end());
  return box_of(box_kind::function, lines);
}

/// Beside the iterator, so that no arrow crosses it.
drawn_box round_box(const plan_graph& x, std::size_t number) {
  constexpr std::size_t characters = 16;
  std::vector lines{title_of(x, number)};
  for (auto& line : wrapped(iterator_caption(x), characters))
    lines.push_back(std::move(line));
  return box_of(box_kind::round, lines);
}

/// A step, with room for all that stands above it.
struct placed_step {
  drawn_box box = {};
  double width = 0;
  /// Below the top of the iterator, and to the right of the round's middle.
  double top = 0;
  double middle = 0;
};

/// Until its box is placed, x is to the right of the box's middle.
struct placed_round {
  drawn_box box = {};
  drawn_box function = {};
  std::vector<placed_step> steps = {};
  /// Room for it and for all that stands above it, on both sides of its middle.
  double width = 0;
  double middle = 0;
};

class layout {
public:
  explicit layout(const plan_graph& x) : graph_(x) {
    for (std::size_t i = 0; i < x.rounds.size(); ++i)
      measure(i);
  }

  drawing draw() {
    place(rounds_.back(), 0, 0);
    // Backwards from the last: each round is placed by the one that takes it.
    for (auto i = rounds_.size(); i-- > 0;)
      draw_round(i);
    draw_batch();
    move_to_corner();
    return std::move(drawing_);
  }

private:
  /// The rounds below it are measured.
  void measure(std::size_t number) {
    const auto& iterator = graph_.rounds[number].iterator;
    placed_round x{.box = round_box(graph_, number),
                   .function = function_box(graph_.rounds[number])};
    double bottom = 0;
    for (const auto& step : iterator) {
      x.steps.push_back(measured(step, x.steps));
      bottom = std::max(bottom, x.steps.back().top + x.steps.back().box.height);
    }
    for (auto i = iterator.size(); i-- > 0;)
      place_inputs(iterator[i], x.steps[i], x.steps);
    x.function.y = box_margin + bottom + gap;
    x.box.height = std::max(x.box.height, x.function.y + x.function.height + box_margin);
    set_width(x);
    rounds_.push_back(std::move(x));
  }

  placed_step measured(const plan_step& x, const std::vector<placed_step>& before) const {
    placed_step step{.box = box_of(x)};
    step.width = std::max(step.box.width, width_of(widths_above(x, before)));
    for (const auto input : x.inputs)
      step.top = std::max(step.top, before[input].top + before[input].box.height + gap);
    return step;
  }

  std::vector<double> widths_above(const plan_step& x,
                                   const std::vector<placed_step>& steps) const {
    std::vector<double> widths;
    for (const auto input : x.inputs)
      widths.push_back(steps[input].width);
    for (const auto round : x.rounds)
      widths.push_back(rounds_[round].width);
    return widths;
  }

  void place_inputs(const plan_step& step, const placed_step& x,
                    std::vector<placed_step>& steps) const {
    const auto middles = middles_of(widths_above(step, steps), x.middle);
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      steps[step.inputs[i]].middle = middles[i];
  }

  /// The round's own lines are to the left of its boxes.
  static void set_width(placed_round& x) {
    auto half = x.function.width / 2;
    auto left = -half;
    auto right = half;
    for (const auto& step : x.steps) {
      left = std::min(left, step.middle - step.box.width / 2);
      right = std::max(right, step.middle + step.box.width / 2);
    }
    x.box.x = left - x.box.width;
    x.box.width += right - left + box_margin;
    half = std::max(-x.box.x, right + box_margin);
    x.width = std::max(2 * half, x.steps.back().width);
  }

  static void place(placed_round& x, double middle, double top) {
    x.middle = middle;
    x.box.x += middle;
    x.box.y = top;
  }

  void draw_round(std::size_t number) {
    auto& x = rounds_[number];
    drawing_.boxes.push_back(x.box);
    for (auto& step : x.steps) {
      step.box.x = x.middle + step.middle - step.box.width / 2;
      step.box.y = x.box.y + box_margin + step.top;
      drawing_.boxes.push_back(step.box);
    }
    x.function.x = x.middle - x.function.width / 2;
    x.function.y += x.box.y;
    drawing_.boxes.push_back(x.function);
    for (std::size_t i = 0; i < x.steps.size(); ++i)
      connect_inputs(graph_.rounds[number].iterator[i], x.steps[i], x);
    connect(x.steps.back().box, x.function);
  }

  /// Says where the rounds above the step are placed.
  void connect_inputs(const plan_step& step, const placed_step& x, const placed_round& round) {
    for (const auto input : step.inputs)
      connect(round.steps[input].box, x.box);
    const auto middles = middles_of(widths_above(step, round.steps), round.middle + x.middle);
    for (std::size_t i = 0; i < step.rounds.size(); ++i) {
      auto& behind = rounds_[step.rounds[i]];
      place(behind, middles[i], round.box.y - gap - behind.box.height);
      drawing_.arrows.push_back(
          {middles[i], round.box.y - gap - box_margin, x.box.x + x.box.width / 2, x.box.y});
    }
  }

  void draw_batch() {
    const auto& last = rounds_.back();
    auto box = box_of(box_kind::batch, {batch_caption(), graph_.batch});
    box.x = last.middle - box.width / 2;
    box.y = last.box.y + last.box.height + gap;
    drawing_.boxes.push_back(box);
    connect(last.function, box);
  }

  void connect(const drawn_box& from, const drawn_box& to) {
    drawing_.arrows.push_back(
        {from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y});
  }

  void move_to_corner() {
    auto left = drawing_.boxes.front().x;
    auto top = drawing_.boxes.front().y;
    for (const auto& x : drawing_.boxes) {
      left = std::min(left, x.x);
      top = std::min(top, x.y);
    }
    for (auto& x : drawing_.boxes) {
      x.x -= left;
      x.y -= top;
      drawing_.width = std::max(drawing_.width, x.x + x.width);
      drawing_.height = std::max(drawing_.height, x.y + x.height);
    }
    for (auto& x : drawing_.arrows)
      x = {x.x1 - left, x.y1 - top, x.x2 - left, x.y2 - top};
  }

  const plan_graph& graph_;
  std::vector<placed_round> rounds_;
  drawing drawing_;
};

} // namespace

std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char x) { return (x & 0xc0) != 0x80; }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t longest) {
  std::vector<std::string> lines;
  while (text.size() > longest) {
    const auto space = text.substr(0, longest + 1).rfind(' ');
    const auto end = space == std::string_view::npos ? text.find(' ') : space;
    if (end == std::string_view::npos)
      break;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.emplace_back(text);
  return lines;
}

drawing lay_out(const plan_graph& x) {
  return layout{x}.draw();
}

} // namespace leat::command
