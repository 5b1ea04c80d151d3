// What a feed costs: lines of standard input by a feed's process to a rank that looks at them,
// reads and releases them and does nothing else, beside plain rows of the same size by a bulk
// connection; and to the loader of a rank, beside the same loader that reads standard input itself.
// Each process of a measurement is one of its own.

#include "runtime/feeding/feed_hall.hpp"
#include "runtime/feeding/feed_node.hpp"
#include "runtime/feeding/remote_feed.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/live/once_input.hpp"
#include "tests/bench/harness.hpp"
#include "tests/bench/link/forked_part.hpp"
#include "tests/bench/link/row_ways.hpp"
#include "tests/support/heard_notices.hpp"

#include <leat/leat.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace leat::bench {

namespace {

struct line_size {
  const char* name;
  /// The size of a line's content.
  std::size_t bytes;
  /// In a measurement.
  std::uint64_t lines;

  /// How many a batch has.
  std::uint64_t rows() const { return bytes > 10'000 ? 16 : 512; }
  /// As many as take about as long.
  std::uint64_t rows_of_bulk() const { return bytes > 10'000 ? lines : lines / 20; }
  double gigabytes() const { return static_cast<double>(bytes * lines) * 1e-9; }
};

struct line_costs {
  double lines_per_second = 0;
  /// CPU time of all processes.
  double seconds_per_gigabyte = 0;
};

constexpr std::uint64_t lanes = 8;
constexpr std::size_t bytes_per_page = 4096;

/// What a rank's process, which has measured its time, too, and the feed's have found.
line_costs costs_in(const std::vector<std::vector<double>>& found, const line_size& x) {
  return {.lines_per_second = static_cast<double>(x.lines) / found[0].at(1),
          .seconds_per_gigabyte = (found[0].at(0) + found[1].at(0)) / x.gigabytes()};
}

void write_lines(const std::string& path, const line_size& x) {
  std::ofstream to{path};
  std::string line(x.bytes, 'x');
  line += '\n';
  for (std::uint64_t i = 0; i < x.lines; ++i) {
    const auto number = std::to_string(i);
    line.replace(0, number.size(), number);
    to << line;
  }
}

void read_as_standard_input(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || ::dup2(file, STDIN_FILENO) < 0)
    throw std::runtime_error("no lines");
  ::close(file);
}

loader_options options_of_rank() {
  loader_options x;
  x.workers = 1;
  x.feeds_at = "127.0.0.1:0";
  return x;
}

pipeline batches_of(const pipeline& lines, const line_size& x) {
  return lines.batch(x.rows());
}

/// Takes all lines. Returns the CPU time, and the time from the first batch to the last.
std::vector<double> take_lines(loader& from, const line_size& x) {
  auto rows = from.next()->valid_rows();
  const auto begin = wall_seconds();
  const auto first = rows;
  while (const auto batch = from.next())
    rows += batch->valid_rows();
  if (rows != x.lines)
    throw std::runtime_error("lines are missing");
  const auto seconds = wall_seconds() - begin;
  return {process_seconds(),
          seconds * static_cast<double>(rows) / static_cast<double>(rows - first)};
}

/// Where the loader waits for feeds.
std::uint64_t port_in(heard_notices& heard) {
  const std::string before = "feeds join at ";
  heard.wait(before);
  for (const auto& x : heard.texts())
    if (x.find(before) != x.npos)
      return std::stoull(x.substr(x.rfind(':') + 1));
  throw std::runtime_error("no port");
}

line_costs by_feed(const std::string& path, const line_size& x) {
  const auto rank = [&](const part_line& other) {
    heard_notices heard;
    loader from{batches_of(feed("lines"), x), options_of_rank()};
    other.say(port_in(heard));
    auto found = take_lines(from, x);
    from.finish();
    return found;
  };
  const auto source = [&](const part_line& other) -> std::vector<double> {
    read_as_standard_input(path);
    run_feed({.name = "lines",
              .join = "127.0.0.1:" + std::to_string(other.hear()),
              .log = [](const std::string&) {}});
    return {process_seconds()};
  };
  return costs_in(run_parts(rank, source), x);
}

line_costs by_loader(const std::string& path, const line_size& x) {
  const auto alone = [&](const part_line&) {
    read_as_standard_input(path);
    loader from{batches_of(standard_input(), x), {.workers = 1}};
    return take_lines(from, x);
  };
  return costs_in(run_parts(alone, [](const part_line&) { return std::vector<double>{0}; }), x);
}

/// Looks two batches ahead, reads each record as far as plain rows are read, and releases batches.
std::uint64_t take_records(feed_station& from, const remote_feed& source, const line_size& x) {
  const std::atomic<bool> stop = false;
  sample row;
  unsigned sum = 0;
  std::uint64_t looked = 0;
  bool has_ended = false;
  const auto look = [&](std::uint64_t below, std::uint64_t needed) {
    while (!has_ended && looked < below)
      switch (from.peek(looked)) {
      case live_source::state::ready:
        ++looked;
        break;
      case live_source::state::ended:
        has_ended = true;
        break;
      case live_source::state::pending:
        if (looked > needed)
          return;
        from.wait(looked, stop);
      }
  };
  for (std::uint64_t at = 0;; ++at) {
    look(at + 2 * x.rows() + 1, at);
    if (at == looked)
      return sum > 0 ? at : 0; // it must be computed
    sample_access::reset(row, nullptr);
    source.read(at, row);
    const auto text = row.text("text");
    for (std::size_t k = 0; k < text.size(); k += bytes_per_page)
      sum += static_cast<unsigned char>(text[k]);
    if ((at + 1) % x.rows() == 0)
      for (std::uint64_t lane = 0; lane < lanes; ++lane)
        from.release_below(at + 1, lane);
  }
}

line_costs by_station(const std::string& path, const line_size& x) {
  const auto rank = [&](const part_line& other) -> std::vector<double> {
    const auto at = std::make_shared<feed_station>("lines", feed_station::settings{});
    at->attend({.lanes = lanes});
    feed_hall_config config;
    config.guard.at = *parse_ip("127.0.0.1");
    config.stations = {at};
    feed_hall hall{std::move(config)};
    other.say(hall.port());
    const auto begin = wall_seconds();
    if (take_records(*at, remote_feed{at, "lines"}, x) != x.lines)
      throw std::runtime_error("lines are missing");
    const auto seconds = wall_seconds() - begin;
    hall.finish();
    return {process_seconds(), seconds};
  };
  const auto source = [&](const part_line& other) -> std::vector<double> {
    read_as_standard_input(path);
    feed_node feed{{.name = "lines",
                    .join = "127.0.0.1:" + std::to_string(other.hear()),
                    .input = standard_input_lines(),
                    .log = [](const std::string&) {}},
                   [] { return std::vector<std::string>{}; }};
    feed.run();
    return {process_seconds()};
  };
  return costs_in(run_parts(rank, source), x);
}

bench_case records_case(const std::string& folder, const line_size& x) {
  const std::string name = std::string{"records of "} + x.name;
  return {name,
          {{name + ", feed to a rank", "/s"},
           {name + ", feed to a rank", "CPU us per record, both processes"},
           {name + ", feed to a rank", "CPU s/GB, both processes"},
           {name + ", plain rows", "CPU s/GB, both processes"},
           {name + ": feed / plain rows", "(of 110 KB to be at most 2)"}},
          [=] {
            const auto path = folder + "/" + std::to_string(x.bytes);
            write_lines(path, x);
            return [=](int number) -> std::vector<double> {
              line_costs fed;
              double plain = 0;
              const auto measure_plain = [&] {
                plain =
                    costs_of({.row_bytes = x.bytes, .rows = x.rows_of_bulk()}).seconds_per_gigabyte;
              };
              if (number % 2 == 0)
                measure_plain();
              fed = by_station(path, x);
              if (number % 2 != 0)
                measure_plain();
              const auto of_record = fed.seconds_per_gigabyte * static_cast<double>(x.bytes) * 1e-3;
              return {fed.lines_per_second, of_record, fed.seconds_per_gigabyte, plain,
                      fed.seconds_per_gigabyte / plain};
            };
          }};
}

bench_case job_case(const std::string& folder, const line_size& x) {
  const std::string name = std::string{"job over lines of "} + x.name;
  return {name,
          {{name + ", by a feed", "/s"},
           {name + ", read by the loader itself", "/s"},
           {name + ", by a feed", "CPU s/GB, both processes"},
           {name + ", read by the loader itself", "CPU s/GB"}},
          [=] {
            const auto path = folder + "/job" + std::to_string(x.bytes);
            write_lines(path, x);
            return [=](int number) -> std::vector<double> {
              line_costs own;
              if (number % 2 == 0)
                own = by_loader(path, x);
              const auto fed = by_feed(path, x);
              if (number % 2 != 0)
                own = by_loader(path, x);
              return {fed.lines_per_second, own.lines_per_second, fed.seconds_per_gigabyte,
                      own.seconds_per_gigabyte};
            };
          }};
}

} // namespace

std::vector<bench_case> feed_cases(const std::string& folder) {
  std::vector<bench_case> all;
  for (const auto& x : {line_size{"100 B", 100, 2'000'000}, line_size{"110 KB", 110'000, 4'000}}) {
    all.push_back(records_case(folder, x));
    all.push_back(job_case(folder, x));
  }
  return all;
}

} // namespace leat::bench
