#include <leat/cluster_observer.hpp>
#include <leat/error.hpp>

#include "tools/leat/cluster/status_text.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace leat::command {

namespace {

constexpr std::chrono::seconds watch_interval{1};

struct status_options {
  observer_options observer;
  std::uint64_t limit = 10;
  bool json = false;
  bool watch = false;
};

/// Shows successive tables: on a terminal in the same place, otherwise only those that differ.
class status_display {
public:
  void show(const cluster_report& x) {
    auto text = status_lines(x);
    problem_.clear();
    if (is_terminal_)
      return draw(text);
    auto what = without_clocks(x);
    if (what == last_)
      return;
    if (last_)
      print_line("");
    last_ = std::move(what);
    for (const auto& line : text)
      print_line(line);
    flush_output();
  }

  void show_problem(const std::string& text) {
    if (is_terminal_)
      return draw({"no answer, trying again: " + text});
    if (std::exchange(problem_, text) != text)
      print_notice("cluster status", "no answer, trying again: " + text);
  }

private:
  /// Draws as much as fits on the screen.
  static void draw(const std::vector<std::string>& text) {
    winsize size{};
    const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
    const auto most = std::min<std::size_t>(is_known ? size.ws_row - 1U : 24, text.size());
    std::string screen = "\x1b[H";
    for (std::size_t i = 0; i < most; ++i)
      screen += text[i].substr(0, is_known ? size.ws_col : std::string::npos) + "\x1b[K\n";
    if (most < text.size())
      screen += "... " + std::to_string(text.size() - most) + " more lines";
    print_line(screen + "\x1b[J");
    flush_output();
  }

  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::optional<cluster_report> last_;
  std::string problem_;
};

/// Watches until the job is over or a signal ends the process.
void watch(cluster_observer& from) {
  status_display display;
  auto now = from.look(); // not retried: an address that fails at once is wrong
  for (;;) {
    display.show(now);
    if (now.phase == cluster_phase::over)
      return;
    from.wait(watch_interval);
    for (bool is_there = false; !is_there;) {
      try {
        now = from.look();
        is_there = true;
      } catch (const error& problem) {
        if (problem.code() != errc::io)
          throw;
        display.show_problem(problem.what());
        from.wait(watch_interval);
      }
    }
  }
}

void show_status(const status_options& x) {
  auto options = x.observer;
  options.limit = std::chrono::seconds{x.limit};
  cluster_observer observer{options};
  if (x.watch)
    return watch(observer);
  const auto found = observer.look();
  if (x.json)
    return print_line(status_to_json(found).dump());
  for (const auto& line : status_lines(found))
    print_line(line);
}

} // namespace

void add_cluster(CLI::App& app) {
  auto* all = app.add_subcommand("cluster", "Look at a job of several processes");
  all->require_subcommand(1);
  auto* sub = all->add_subcommand(
      "status", "Show the ranks of a job, where they are, and what they wait for");
  auto x = std::make_shared<status_options>();
  sub->add_option("--join", x->observer.address,
                  "HOST:PORT of the coordinator; otherwise LEAT_CLUSTER_ADDRESS");
  sub->add_option("--certs", x->observer.certificates,
                  "Directory with certificate and key for the role observer (leat certs issue); "
                  "otherwise LEAT_CLUSTER_CERTS");
  whole_number(sub->add_option("--timeout", x->limit,
                               "Seconds for each of: finding the coordinator, connecting, asking"),
               1, 3600)
      ->capture_default_str();
  auto* json = sub->add_flag("--json", x->json, "Print a JSON object");
  sub->add_flag("--watch", x->watch,
                "Show it again every second until the job is over; where standard output is no "
                "terminal, whenever something has changed")
      ->excludes(json);
  sub->footer("LEAT_CLUSTER_TOKEN is the job's secret: as the coordinator has it.");
  sub->callback([x] { show_status(*x); });
}

} // namespace leat::command
