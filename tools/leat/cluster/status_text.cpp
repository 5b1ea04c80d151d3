#include "tools/leat/cluster/status_text.hpp"

#include "runtime/base/utf8.hpp"

#include "tools/leat/cluster/job_feeds.hpp"
#include "tools/leat/output.hpp"

#include <algorithm>
#include <set>

namespace leat::command {

namespace {

using nlohmann::json;
using line_list = std::vector<std::string>;

/// Texts come from other machines: makes them UTF-8 without anything that a terminal acts on. Keeps
/// line ends.
std::string shown(const std::string& bytes) {
  auto text = as_utf8(bytes);
  for (auto& x : text)
    if ((static_cast<unsigned char>(x) < ' ' && x != '\n') || x == '\x7f')
      x = '?';
  return text;
}

/// Adds "NAME  TEXT", with further lines of the text below its first.
void add(line_list& to, const std::string& name, const std::string& text) {
  constexpr std::size_t width = 16;
  auto head = name;
  head.resize(std::max(width, name.size() + 1), ' ');
  std::size_t at = 0;
  for (;;) {
    const auto end = text.find('\n', at);
    to.push_back(head + text.substr(at, end - at));
    if (end == std::string::npos)
      return;
    at = end + 1;
    head.assign(width, ' ');
  }
}

std::string text_of(const std::optional<job_position>& x, const char* otherwise) {
  return x ? "epoch " + std::to_string(x->epoch) + " step " + std::to_string(x->step) : otherwise;
}

std::string time_text(std::chrono::nanoseconds x) {
  const auto seconds = in_seconds(x);
  return seconds < 100 ? fixed(seconds, 1) + " s"
                       : with_commas(static_cast<std::uint64_t>(seconds)) + " s";
}

std::string wanted_text(const cluster_report& x) {
  if (!x.wanted)
    return "no process has come yet";
  const auto [least, most] = *x.wanted;
  return least == most ? with_commas(most) + " wanted"
                       : with_commas(least) + " to " + with_commas(most) + " wanted";
}

using row = std::vector<std::string>;

row titles() {
  return {"rank",     "host",   "pid",        "state",          "epoch",  "step",
          "job step", "behind", "last heard", "waits for data", "rows/s", "helpers' cores"};
}

row row_of(const rank_report& x) {
  row to(titles().size(), "-");
  to[0] = std::to_string(x.rank);
  to[3] = std::string{to_string(x.state)} + (x.has_come_back ? ", came back" : "");
  if (x.state == rank_state::unheard)
    return to;
  to[1] = shown(x.host);
  to[2] = std::to_string(x.pid);
  to[8] = time_text(x.silent) + " ago";
  if (!x.global_step)
    return to;
  to[4] = std::to_string(x.at.epoch);
  to[5] = with_commas(x.at.step);
  to[6] = with_commas(*x.global_step);
  to[7] = with_commas(x.lag.value_or(0));
  to[9] = fixed(static_cast<double>(x.waiting_permille) / 10, 0) + " %";
  to[10] = with_commas(x.rows_per_second);
  if (!x.workers_at.empty())
    to[11] = with_commas(x.helper_cores);
  return to;
}

/// Adds a table with a line of titles: the columns in `texts` are aligned left, others right.
void add_table(line_list& to, const std::vector<row>& rows, const std::set<std::size_t>& texts) {
  const auto columns = rows.front().size();
  std::vector<std::size_t> widths(columns);
  for (const auto& x : rows)
    for (std::size_t i = 0; i < columns; ++i)
      widths[i] = std::max(widths[i], x[i].size());
  for (const auto& x : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string gap(widths[i] - x[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (texts.contains(i) ? x[i] + gap : gap + x[i]);
    }
    to.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

std::string process_text(const waiting_report& x) {
  return (x.rank ? "rank " + std::to_string(*x.rank) + ", " : "") + "process "
         + std::to_string(x.pid) + " of " + shown(x.host);
}

void add_ranks(line_list& to, const cluster_report& x) {
  to.emplace_back();
  std::vector<row> table{titles()};
  for (const auto& rank : x.ranks)
    table.push_back(row_of(rank));
  add_table(to, table, {1, 3});
  for (const auto& rank : x.ranks)
    if (!rank.failure.empty())
      add(to, "rank " + std::to_string(rank.rank) + " failed", shown(rank.failure));
}

row row_of(const job_feed& x) {
  std::string hosts;
  for (const auto& host : x.hosts)
    hosts += (hosts.empty() ? "" : ", ") + host;
  return {shown(x.name),
          hosts.empty() ? "nobody" : shown(hosts),
          std::to_string(x.served) + " of " + std::to_string(x.ranks),
          x.has_journal ? "yes" : "no",
          with_commas(x.records_read),
          with_commas(x.lag),
          with_commas(x.needed_from),
          with_commas(x.records_per_second),
          readable_bytes(x.bytes_per_second),
          fixed(static_cast<double>(x.waiting_permille) / 10, 0) + " %"};
}

void add_feeds(line_list& to, const std::vector<job_feed>& feeds) {
  std::vector<row> table{{"feed", "served from", "to ranks", "journal", "records", "lag",
                          "needed from", "records/s", "bytes/s", "ranks wait"}};
  for (const auto& x : feeds)
    table.push_back(row_of(x));
  to.emplace_back();
  add_table(to, table, {0, 1, 3});
}

void add_waiting(line_list& to, const cluster_report& x) {
  to.emplace_back();
  to.emplace_back("no rank yet, and why:");
  for (const auto& process : x.waiting) {
    const auto text = process.waits_for.empty() ? "" : ": waits for " + shown(process.waits_for);
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
      const auto all = process_text(process) + text;
      end = all.find('\n', at);
      to.push_back((at == 0 ? "  " : "    ") + all.substr(at, end - at));
    }
  }
}

json to_json(const std::optional<job_position>& x) {
  return x ? json{{"epoch", x->epoch}, {"step", x->step}} : json();
}

template <class T>
json number_or_null(const std::optional<T>& x) {
  return x ? json(*x) : json();
}

json text_or_null(const std::string& x) {
  return x.empty() ? json() : json(shown(x));
}

json to_json(const feed_report& x) {
  return {{"name", shown(x.name)},
          {"at", text_or_null(x.at)},
          {"journal", x.has_journal},
          {"records_read", x.records_read},
          {"reached", x.reached},
          {"lag", x.lag()},
          {"needed_from", x.needed_from},
          {"records_received", x.records_received},
          {"bytes_received", x.bytes_received},
          {"waited_seconds", in_seconds(x.waited)},
          {"records_per_second", x.records_per_second},
          {"bytes_per_second", x.bytes_per_second},
          {"waiting", static_cast<double>(x.waiting_permille) / 1000}};
}

json to_json(const job_feed& x) {
  auto hosts = json::array();
  for (const auto& host : x.hosts)
    hosts.push_back(shown(host));
  return {{"name", shown(x.name)},
          {"hosts", hosts},
          {"journal", x.has_journal},
          {"ranks", x.ranks},
          {"served", x.served},
          {"records_read", x.records_read},
          {"lag", x.lag},
          {"needed_from", x.needed_from},
          {"records_received", x.records_received},
          {"bytes_received", x.bytes_received},
          {"records_per_second", x.records_per_second},
          {"bytes_per_second", x.bytes_per_second},
          {"waiting", static_cast<double>(x.waiting_permille) / 1000}};
}

template <class T>
json list_to_json(const std::vector<T>& all) {
  auto list = json::array();
  for (const auto& x : all)
    list.push_back(to_json(x));
  return list;
}

json to_json(const rank_report& x) {
  const bool is_placed = x.global_step.has_value();
  return {{"rank", x.rank},
          {"state", to_string(x.state)},
          {"host", text_or_null(x.host)},
          {"pid", x.state == rank_state::unheard ? json() : json(x.pid)},
          {"epoch", is_placed ? json(x.at.epoch) : json()},
          {"step", is_placed ? json(x.at.step) : json()},
          {"global_step", number_or_null(x.global_step)},
          {"lag", number_or_null(x.lag)},
          {"silent_seconds", x.state == rank_state::unheard ? json() : json(in_seconds(x.silent))},
          {"came_back", x.has_come_back},
          {"waiting", static_cast<double>(x.waiting_permille) / 1000},
          {"rows_per_second", x.rows_per_second},
          {"workers", x.workers},
          {"workers_at", text_or_null(x.workers_at)},
          {"helper_cores", x.helper_cores},
          {"feeds_at", text_or_null(x.feeds_at)},
          {"feeds", list_to_json(x.feeds)},
          {"failure", text_or_null(x.failure)}};
}

json to_json(const waiting_report& x) {
  return {{"host", text_or_null(x.host)},
          {"pid", x.pid},
          {"rank", number_or_null(x.rank)},
          {"waits_for", text_or_null(x.waits_for)}};
}

} // namespace

std::uint64_t helper_cores_wanted(const cluster_report& x) {
  constexpr std::uint64_t most_hungry = 950; // who only waits would want any number
  std::uint64_t wanted = 0;
  for (const auto& rank : x.ranks) {
    if (rank.workers_at.empty() || rank.state != rank_state::running)
      continue;
    // Rows come as fast as they are made while the trainer waits: as many threads more would have
    // to make rows as would fill its time.
    const auto now = rank.workers + rank.helper_cores;
    const auto hungry = std::min(rank.waiting_permille, most_hungry);
    const auto needed = (1000 * now + 999 - hungry) / (1000 - hungry);
    wanted += needed - std::min(needed, rank.workers);
  }
  return wanted;
}

std::vector<std::string> status_lines(const cluster_report& x) {
  line_list to;
  add(to, "job", x.job.empty() ? "(without a name)" : shown(x.job));
  add(to, "coordinator", "number " + std::to_string(x.coordinator) + ", at " + shown(x.address));
  add(to, "state",
      std::string{to_string(x.phase)}
          + (x.term == 0 ? ", before its first term" : ", term " + std::to_string(x.term)));
  if (!x.reason.empty())
    add(to, "reason", shown(x.reason));
  if (x.term > 0)
    add(to, "began at", text_of(x.start, "the job's beginning"));
  add(to, "newest snapshot",
      text_of(x.stored, "none") + (x.sets.empty() ? "" : ", in " + shown(x.sets)));
  if (x.collecting)
    add(to, "collecting", text_of(x.collecting, ""));
  if (x.store_failures > 0)
    add(to, "not stored",
        with_commas(x.store_failures) + " times, last: " + shown(x.store_failure));
  add(to, "ranks", with_commas(x.ranks.size()) + ", " + wanted_text(x));
  if (!x.ranks.empty())
    add_ranks(to, x);
  if (const auto feeds = feeds_of_job(x); !feeds.empty())
    add_feeds(to, feeds);
  if (!x.waiting.empty())
    add_waiting(to, x);
  return to;
}

nlohmann::json status_to_json(const cluster_report& x) {
  auto ranks = json::array();
  for (const auto& rank : x.ranks)
    ranks.push_back(to_json(rank));
  auto waiting = json::array();
  for (const auto& process : x.waiting)
    waiting.push_back(to_json(process));
  return {{"address", x.address},
          {"job", text_or_null(x.job)},
          {"coordinator", x.coordinator},
          {"phase", to_string(x.phase)},
          {"term", x.term},
          {"reason", text_or_null(x.reason)},
          {"least_ranks", x.wanted ? json(x.wanted->least) : json()},
          {"most_ranks", x.wanted ? json(x.wanted->most) : json()},
          {"start", to_json(x.start)},
          {"stored", to_json(x.stored)},
          {"collecting", to_json(x.collecting)},
          {"snapshot_dir", text_or_null(x.sets)},
          {"store_failures", x.store_failures},
          {"store_failure", text_or_null(x.store_failure)},
          {"helpers_wanted", helper_cores_wanted(x)},
          {"feeds", list_to_json(feeds_of_job(x))},
          {"ranks", ranks},
          {"waiting", waiting}};
}

cluster_report without_clocks(cluster_report x) {
  for (auto& rank : x.ranks) {
    rank.silent = {};
    rank.waiting_permille = 0;
    rank.rows_per_second = 0;
    for (auto& feed : rank.feeds) {
      feed.waited = {};
      feed.records_per_second = feed.bytes_per_second = feed.waiting_permille = 0;
    }
  }
  return x;
}

} // namespace leat::command
