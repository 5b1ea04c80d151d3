#include "tools/leat/progress.hpp"

#include <leat/notice.hpp>

#include "tools/leat/output.hpp"
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace leat::command {

namespace {

constexpr std::chrono::milliseconds redraw_interval{100};
constexpr std::chrono::seconds line_interval{10};
constexpr std::size_t bar_width = 24;

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

} // namespace

std::string progress_text(const training_progress& x, std::string_view unit) {
  auto rate = share(static_cast<double>(x.samples), in_seconds(x.elapsed));
  auto tokens = share(static_cast<double>(x.tokens), in_seconds(x.elapsed));
  auto waiting = 100 * share(in_seconds(x.waited), in_seconds(x.elapsed));
  return "epoch " + std::to_string(x.epoch) + "  step " + std::to_string(x.global_step) + "/"
         + (x.total_steps ? std::to_string(*x.total_steps) : "?") + "  "
         + with_commas(std::llround(rate)) + " " + std::string{unit} + "/s  "
         + (x.tokens > 0 ? with_commas(std::llround(tokens)) + " tokens/s  " : "")
         + "waiting for data " + fixed(waiting, 0) + "%, training " + fixed(100 - waiting, 0) + "%";
}

std::string progress_bar(double share, std::size_t width) {
  auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

namespace {

constexpr std::chrono::milliseconds moment{500};

/// Draws what is reported once an operation has taken longer than `moment`.
class opening_bar {
public:
  void show(const progress& x) {
    const auto now = std::chrono::steady_clock::now();
    if (x.done <= 1)
      *this = {.begun = now, .shown = now};
    const bool is_due = now - shown >= (terminal ? std::chrono::nanoseconds{redraw_interval}
                                                 : std::chrono::nanoseconds{line_interval});
    const bool is_last = drawn && x.done == x.all;
    if (!is_last && (now - begun < moment || (drawn && !is_due)))
      return;
    shown = now;
    draw(x);
    drawn = true;
  }

  std::chrono::steady_clock::time_point begun = {};
  std::chrono::steady_clock::time_point shown = {};
  bool drawn = false;
  bool terminal = ::isatty(STDERR_FILENO) == 1;

private:
  void draw(const progress& x) const {
    const auto text = with_commas(x.done) + " of " + with_commas(x.all) + " " + std::string{x.what};
    if (!terminal)
      return print_notice("data", text);
    const auto part = share(static_cast<double>(x.done), static_cast<double>(x.all));
    const auto line =
        "\r\x1b[K" + progress_bar(part, bar_width) + " " + text + (x.done == x.all ? "\n" : "");
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  }
};

} // namespace

opening_display::opening_display() {
  set_progress_handler([bar = opening_bar{}](const progress& x) mutable { bar.show(x); });
}

opening_display::~opening_display() {
  set_progress_handler({});
}

progress_display::progress_display(std::string_view unit, std::function<std::string()> more)
    : unit_(unit), more_(std::move(more)), terminal_(::isatty(STDERR_FILENO) == 1) {}

progress_display::~progress_display() {
  if (!drawn_ || !terminal_)
    return;
  draw(last_);
  std::fputc('\n', stderr);
}

void progress_display::update(const training_progress& x) {
  last_ = x;
  auto interval = terminal_ ? std::chrono::nanoseconds{redraw_interval} : line_interval;
  if (x.elapsed - shown_at_ < interval)
    return;
  shown_at_ = x.elapsed;
  drawn_ = true;
  draw(x);
}

void progress_display::draw(const training_progress& x) const {
  auto text = progress_text(x, unit_);
  if (const auto more = more_ ? more_() : std::string{}; !more.empty())
    text += "  " + more;
  if (!terminal_)
    return print_notice("run", text);
  auto done = x.total_steps
                  ? share(static_cast<double>(x.global_step), static_cast<double>(*x.total_steps))
                  : 0;
  auto line = "\r\x1b[K" + progress_bar(done, bar_width) + " " + text;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

} // namespace leat::command
