#include "tools/leat/graph/graph_svg.hpp"

#include "runtime/base/utf8.hpp"

#include "tools/leat/graph/graph_layout.hpp"
#include "tools/leat/graph/graph_text.hpp"
#include "tools/leat/output.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace leat::command {

namespace {

/// Space around the whole picture.
constexpr double page_margin = 20;
/// Characters of the longest name of a fact.
constexpr std::size_t label_characters = 14;
/// Characters of the longest line of facts.
constexpr std::size_t longest_fact = 96;

struct style {
  box_kind kind;
  const char* fill;
  const char* meaning;
};
constexpr std::array<style, 5> styles{{
    {box_kind::step, "#ffffff", "no state"},
    {box_kind::stateful_step, "#ffe9b8", "a state in every lane"},
    {box_kind::function, "#d9ebfa", "workers"},
    {box_kind::batch, "#dcf0d5", "batcher"},
    {box_kind::round, "#f4f4f2", "round"},
}};

const char* fill_of(box_kind kind) {
  return std::find_if(styles.begin(), styles.end(), [&](const style& x) { return x.kind == kind; })
      ->fill;
}

/// Escapes a text for XML; what is not a character becomes a question mark.
std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(1, length));
    if (character == "&")
      result += "&amp;";
    else if (character == "<")
      result += "&lt;";
    else if (length == 0 || static_cast<unsigned char>(character.front()) < ' ')
      result += '?';
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

std::string number(double x) {
  return fixed(x, 1);
}

class svg_writer {
public:
  void text(double x, double y, const std::string& line, const char* weight = "normal") {
    svg_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-weight=\"" + weight + "\">"
            + escaped(line) + "</text>\n";
    reach(x + char_width * double(length_of(line)), y);
  }

  void box(const drawn_box& box) {
    rectangle(box);
    auto y = box.y + box_margin + text_below_top;
    // The title says what the box is; a round's also says where its iterator runs.
    for (std::size_t i = 0; i < box.lines.size(); ++i, y += line_height)
      text(box.x + box_margin, y, box.lines[i], i == 0 ? "bold" : "normal");
  }

  void rectangle(const drawn_box& box) {
    svg_ += "<rect x=\"" + number(box.x) + "\" y=\"" + number(box.y) + "\" width=\""
            + number(box.width) + "\" height=\"" + number(box.height) + "\" rx=\"5\" fill=\""
            + fill_of(box.kind) + "\" stroke=\"#555555\"/>\n";
    reach(box.x + box.width, box.y + box.height);
  }

  /// Draws an arrow straight down, and then sideways above its end.
  void arrow(const drawn_arrow& a) {
    constexpr double head = 7;
    constexpr double bend = 20;
    const auto tip = a.y2 - head;
    const auto turn = std::max(a.y1, tip - bend);
    svg_ += "<path d=\"M" + number(a.x1) + ' ' + number(a.y1) + " V" + number(turn) + " C"
            + number(a.x1) + ' ' + number(tip) + ' ' + number(a.x2) + ' ' + number(turn) + ' '
            + number(a.x2) + ' ' + number(tip) + "\" fill=\"none\" stroke=\"#333333\"/>\n";
    svg_ +=
        "<path d=\"M" + number(a.x2) + ' ' + number(a.y2) + " l-4 -8 h8 z\" fill=\"#333333\"/>\n";
  }

  std::string finish() const {
    const auto width = number(width_ + page_margin);
    const auto height = number(height_ + page_margin);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height
           + "\" viewBox=\"0 0 " + width + ' ' + height
           + "\" font-family=\"monospace\" font-size=\"12\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
           + svg_ + "</svg>\n";
  }

  static constexpr double text_below_top = 12;

private:
  void reach(double x, double y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }

  std::string svg_;
  double width_ = 0;
  double height_ = 0;
};

/// Returns where they end.
double write_facts(const plan_graph& x, svg_writer& to) {
  auto y = page_margin + svg_writer::text_below_top;
  for (const auto& fact : facts_of(x)) {
    to.text(page_margin, y, fact.about, "bold");
    for (const auto& line : wrapped(fact.text, longest_fact)) {
      to.text(page_margin + char_width * label_characters, y, line);
      y += line_height;
    }
  }
  return y;
}

void write_legend(double y, svg_writer& to) {
  auto x = page_margin;
  for (const auto& style : styles) {
    to.rectangle({.kind = style.kind, .x = x, .y = y, .width = 18, .height = 12});
    to.text(x + 24, y + 10, style.meaning);
    x += 24 + char_width * double(std::string_view{style.meaning}.size() + 3);
  }
}

void write_drawing(drawing x, double top, svg_writer& to) {
  for (auto& box : x.boxes) {
    box.x += page_margin;
    box.y += top;
    to.box(box);
  }
  for (const auto& a : x.arrows)
    to.arrow({a.x1 + page_margin, a.y1 + top, a.x2 + page_margin, a.y2 + top});
}

} // namespace

std::string to_svg(const plan_graph& x) {
  svg_writer svg;
  const auto top = write_facts(x, svg) + page_margin;
  auto drawn = lay_out(x);
  const auto bottom = top + drawn.height + page_margin;
  write_drawing(std::move(drawn), top, svg);
  write_legend(bottom, svg);
  return svg.finish();
}

} // namespace leat::command
