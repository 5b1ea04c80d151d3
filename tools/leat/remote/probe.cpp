#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/store_of.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/remote/remote_arguments.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace leat::command {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t part_bytes = std::uint64_t{1} << 20;
constexpr std::size_t latency_requests = 20;
constexpr double ms_in_second = 1000;

struct probe_options {
  std::string name = {};
  std::uint64_t seconds = 1;
  remote_options remote = {};
  bool json = false;
};

/// How fast parts came while as many requests were in flight.
struct rate {
  std::size_t in_flight = 0;
  double bytes_per_second = 0;
};

struct probed {
  std::string name;
  asked_server server;
  object_version version;
  /// From nothing to the object's size: credentials, a connection, a request.
  double first_ms = 0;
  /// Of a request for one byte.
  double median_ms = 0;
  double slow_ms = 0;
  std::vector<rate> rates = {};
  /// Of all requests so far.
  std::uint64_t retries = 0;
  std::uint64_t second_requests = 0;
  /// Seconds that the server's clock is ahead, if it says.
  std::optional<std::int64_t> clock_ahead = {};
};

double ms_since(steady::time_point begin) {
  return in_seconds(steady::now() - begin) * ms_in_second;
}

/// Reads parts of an object, one after the other and round again, some at a time.
class part_reading {
public:
  part_reading(stored_objects& from, std::uint64_t size, std::size_t in_flight)
      : from_(from), part_(std::min(size, part_bytes)),
        parts_(std::max<std::uint64_t>(size / part_, 1)),
        buffers_(in_flight, std::vector<std::byte>(static_cast<std::size_t>(part_))) {}
  ~part_reading() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    stop_.request_stop(); // what is in flight is not waited for
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return running_ == 0; });
  }
  part_reading(const part_reading&) = delete;
  part_reading& operator=(const part_reading&) = delete;

  /// In bytes per second; takes longer where as many parts as are in flight have not come by then.
  /// Throws the failure of the first part that has one.
  double run(std::chrono::seconds time) {
    const auto begin = steady::now();
    std::unique_lock lock{mutex_};
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      free_.push_back(i);
    while (!failure_ && (steady::now() < begin + time || ended_ < buffers_.size())) {
      if (free_.empty()) {
        if (ended_ < buffers_.size())
          changed_.wait(lock);
        else
          changed_.wait_until(lock, begin + time);
        continue;
      }
      const auto buffer = free_.back();
      free_.pop_back();
      const auto part = next_++ % parts_;
      ++running_;
      lock.unlock();
      begin_read(buffer, part * part_);
      lock.lock();
    }
    if (failure_)
      throw error(*failure_);
    return static_cast<double>(bytes_) / in_seconds(steady::now() - begin);
  }

private:
  void begin_read(std::size_t buffer, std::uint64_t offset) {
    const read_part part{.object = 0, .offset = offset, .into = buffers_[buffer]};
    try {
      from_.read(
          std::span{&part, 1}, [this, buffer](read_result x) { end_read(buffer, std::move(x)); },
          stop_.get_token());
    } catch (...) { // no memory: nothing was begun
      const std::lock_guard lock{mutex_};
      --running_;
      throw;
    }
  }
  void end_read(std::size_t buffer, read_result x) {
    const std::lock_guard lock{mutex_};
    bytes_ += is_over_ ? 0 : x.bytes;
    ++ended_;
    if (x.failure && !failure_)
      failure_ = std::move(x.failure);
    free_.push_back(buffer);
    --running_;
    changed_.notify_all();
  }

  stored_objects& from_;
  const std::uint64_t part_;
  const std::uint64_t parts_;
  std::vector<std::vector<std::byte>> buffers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> free_;
  std::size_t running_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t ended_ = 0;
  std::stop_source stop_;
  bool is_over_ = false;
  std::shared_ptr<const error> failure_;
};

/// Sorted times of requests for one byte, in different places.
std::vector<double> latencies(stored_objects& from, std::uint64_t size) {
  std::vector<double> times;
  std::byte byte{};
  for (std::size_t i = 0; i < latency_requests; ++i) {
    const auto begin = steady::now();
    read_now(from, 0, size / latency_requests * i, {&byte, 1});
    times.push_back(ms_since(begin));
  }
  std::sort(times.begin(), times.end());
  return times;
}

void count_up(probed& to) {
  const auto& x = process_counts();
  to.retries = x.retries;
  to.second_requests = x.hedges;
  if (const auto ahead = x.clock_ahead.load(); ahead != transfer_counts::no_clock)
    to.clock_ahead = ahead;
}

probed probe(const probe_options& x) {
  const store_set in{x.remote, use_of_cache::none};
  const auto& store = in.of(x.name);
  probed found{.name = store.full_name(x.name), .server = {}, .version = {}};
  const auto begin = steady::now();
  const auto objects = store.open({found.name});
  found.version = objects->stat(0);
  found.first_ms = ms_since(begin);
  found.server = store.server_of(found.name); // which looks for credentials once more
  const auto size = found.version.size;
  if (size == 0)
    throw_file_error(errc::invalid_argument, "probe", found.name, "an object without a byte",
                     "one of some megabytes");
  const auto times = latencies(*objects, size);
  found.median_ms = times[times.size() / 2];
  found.slow_ms = times[times.size() * 9 / 10];
  for (const std::size_t in_flight : {1, 4, 16, 64})
    found.rates.push_back(
        {in_flight, part_reading{*objects, size, in_flight}.run(std::chrono::seconds{x.seconds})});
  if (!store.is_near())
    count_up(found);
  return found;
}

std::string or_none(const std::string& text, const char* none) {
  return as_utf8(text.empty() ? none : text);
}

void print_probed(const probed& x) {
  print_line("object   " + as_utf8(x.name) + ", " + readable_bytes(x.version.size));
  print_line("version  " + or_none(x.version.tag, "none: only its size tells versions apart"));
  print_line("server   " + or_none(x.server.place, "this machine"));
  print_line("asked by " + or_none(x.server.by, "nobody: requests are not signed"));
  print_line("first    " + fixed(x.first_ms, 1)
             + " ms to its size: credentials, connection, request");
  print_line("latency  " + fixed(x.median_ms, 1) + " ms a request, one in ten more than "
             + fixed(x.slow_ms, 1) + " ms");
  for (const auto& r : x.rates)
    print_line("rate     " + readable_bytes(static_cast<std::uint64_t>(r.bytes_per_second))
               + " a second, " + std::to_string(r.in_flight)
               + (r.in_flight == 1 ? " request in flight" : " requests in flight"));
}

/// Signatures hold for 15 minutes.
std::string clock_text(const probed& x) {
  if (!x.clock_ahead)
    return "the server names no time";
  const auto seconds = std::to_string(std::abs(*x.clock_ahead));
  return std::abs(*x.clock_ahead) < 2 ? "the server's is this machine's"
         : *x.clock_ahead > 0         ? "the server's is " + seconds + " s ahead"
                                      : "the server's is " + seconds + " s behind";
}

void print_requests(const probed& x) {
  print_line("clock    " + clock_text(x));
  print_line("retries  " + with_commas(x.retries) + "; slow requests sent a second time "
             + with_commas(x.second_requests));
}

void print_json(const probed& x) {
  nlohmann::json line{{"name", as_utf8(x.name)},           {"bytes", x.version.size},
                      {"version", as_utf8(x.version.tag)}, {"server", as_utf8(x.server.place)},
                      {"asked_by", as_utf8(x.server.by)},  {"first_ms", x.first_ms},
                      {"median_ms", x.median_ms},          {"slow_ms", x.slow_ms},
                      {"rates", nlohmann::json::array()}};
  for (const auto& r : x.rates)
    line["rates"].push_back({{"in_flight", r.in_flight}, {"bytes_per_second", r.bytes_per_second}});
  line["retries"] = x.retries;
  line["second_requests"] = x.second_requests;
  line["clock_ahead"] = x.clock_ahead ? nlohmann::json(*x.clock_ahead) : nlohmann::json();
  print_line(line.dump());
}

} // namespace

void add_probe(CLI::App& app) {
  auto* sub = app.add_subcommand(
      "probe", "Say who asks a server for an object, and how soon and how fast it comes");
  auto x = std::make_shared<probe_options>();
  sub->add_option("NAME", x->name, "An object of some megabytes: s3://, gs://, hf://, https://")
      ->required();
  whole_number(
      sub->add_option("--seconds", x->seconds, "Time for each number of requests in flight")
          ->capture_default_str(),
      1, 600);
  add_remote_options(*sub, x->remote);
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] {
    const auto found = probe(*x);
    if (x->json)
      return print_json(found);
    print_probed(found);
    if (!found.server.place.empty())
      print_requests(found);
  });
}

} // namespace leat::command
