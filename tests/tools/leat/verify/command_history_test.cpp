#include "tests/tools/leat/verify/audited_lines.hpp"

#include "tools/leat/verify/attempt_order.hpp"

namespace leat::command_history_test {

// Jobs of many attempts over changing world sizes, each rank with a log of its own, checked only by
// the logs: correct ones are called good, and each kind of damage is found.

using namespace leat::command;

namespace {

/// One start of a process.
struct start {
  attempt_start header;
  std::vector<batch_line> lines;
};

/// A line by its log, start and number.
struct line_name {
  std::size_t log = 0;
  std::size_t start = 0;
  std::size_t line = 0;
};

/// A job on machines that fail: a directory of snapshots, and a log for each rank.
class simulated_job {
public:
  explicit simulated_job(std::uint32_t seed)
      : random(seed), waits(random() % 2 == 0), alone(random() % 4 == 0) {}

  /// To the end, over random failures.
  void run() {
    for (auto failures = random() % 6; failures > 0; --failures) {
      attempt(true);
      if (random() % 4 == 0)
        roll_back();
    }
    attempt(false);
    if (random() % 3 == 0)
      attempt(false); // there is nothing left to do
  }

  batch_line& line(const line_name& x) { return logs[x.log][x.start].lines[x.line]; }

  /// Lines that the weights at the end have seen, and that no other log has; in the last attempt,
  /// and if each is one process, also lines that others have.
  std::vector<line_name> certain_lines() {
    std::map<std::uint64_t, std::set<std::size_t>> attempts_of_step;
    for (const auto& [number, log] : all_)
      attempts_of_step[number].insert(log);
    std::vector<line_name> result;
    for (const auto& x : seen_)
      if (alone || attempts_of_step[number_of(x)].size() == 1 || of_last_attempt(x))
        result.push_back(x);
    return result;
  }
  bool of_last_attempt(const line_name& x) const {
    return starts_.at({x.log, x.start}) == attempts_;
  }

  bool handed_over_once(const line_name& x) {
    std::set<std::size_t> found;
    for (const auto& [number, attempt] : all_)
      if (number == number_of(x))
        found.insert(attempt);
    return found.size() == 1;
  }

  std::size_t times_delivered(std::uint64_t epoch, std::uint64_t position) const {
    std::size_t times = 0;
    for (const auto& log : logs)
      for (const auto& now : log)
        for (const auto& x : now.lines)
          if (x.epoch == epoch)
            times += static_cast<std::size_t>(
                std::count(x.positions.begin(), x.positions.end(), position));
    return times;
  }

  std::mt19937 random;
  /// Ranks wait for each other at every step.
  bool waits;
  /// All ranks of an attempt run in one process.
  bool alone;
  std::vector<std::vector<start>> logs;

private:
  struct saved_part {
    std::uint64_t began = 0;
    std::vector<line_name> seen;
  };
  struct saved_set {
    std::uint64_t at = 0;
    std::vector<line_name> seen;
  };
  /// Step and world size.
  using set_name = std::pair<std::uint64_t, std::uint64_t>;
  using set_parts = std::map<std::uint64_t, saved_part>;

  std::uint64_t number_of(const line_name& x) { return line(x).epoch * steps + line(x).step; }

  /// The newest complete set whose parts belong together.
  saved_set newest() const {
    for (auto set = parts_.rbegin(); set != parts_.rend(); ++set) {
      const auto& [name, ranks] = *set;
      if (!is_complete(*set))
        continue;
      saved_set result{name.first, before_.at({ranks.begin()->second.began, name.second})};
      for (const auto& [rank, part] : ranks)
        result.seen.insert(result.seen.end(), part.seen.begin(), part.seen.end());
      return result;
    }
    return {};
  }

  static bool is_complete(const std::pair<const set_name, set_parts>& x) {
    const auto& ranks = x.second;
    return ranks.size() == x.first.second
           && std::all_of(ranks.begin(), ranks.end(), [&](const auto& part) {
                return part.second.began == ranks.begin()->second.began;
              });
  }

  /// The newest sets are removed, or torn, and the job resumes from an older one, or starts over.
  void roll_back() {
    auto how_many = random() % 3;
    const bool torn = random() % 2 == 0;
    for (auto set = parts_.end(); set != parts_.begin() && how_many > 0;) {
      --set;
      if (!is_complete(*set))
        continue;
      --how_many;
      if (torn)
        set->second.erase(random() % set->first.second);
      if (!torn || set->second.empty())
        set = parts_.erase(set);
    }
  }

  void attempt(bool fails) {
    const std::uint64_t worlds[] = {1, 2, 3, 4, 6};
    const auto world = worlds[random() % 5];
    const auto from = newest();
    ++attempts_;
    // Sets with the same beginning all depend on the same steps, whoever made them.
    before_.insert_or_assign({from.at, world}, from.seen);
    seen_ = from.seen;
    const bool one_process = alone || world == 1 || random() % 4 == 0;
    const auto death = from.at + random() % (job_steps + 1 - from.at);
    // A process that runs all ranks saves what all of them have, if it still gets to that.
    const auto saved = one_process && fails ? death - std::min(death, random() % 2) : job_steps;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      // Ranks that wait for each other die within a step.
      auto end = waits || one_process ? std::min(job_steps, death + random() % 2)
                                      : from.at + random() % (job_steps + 1 - from.at);
      if (!fails)
        end = job_steps;
      if (fails && !one_process && random() % 6 == 0)
        continue; // died before it wrote anything
      run_rank(rank, world, one_process, from.at, end,
               one_process ? saved : last_saved(end, fails));
    }
  }

  void run_rank(std::uint64_t rank, std::uint64_t world, bool one_process, std::uint64_t from,
                std::uint64_t end, std::uint64_t saved) {
    const auto file = one_process ? 0 : rank;
    if (logs.size() <= file)
      logs.resize(file + 1);
    auto& log = logs[file];
    if (!one_process || rank == 0)
      log.push_back({{.world_size = world}, {}});
    auto& now = log.back();
    if (!one_process)
      now.header.rank = rank;
    if (from > 0)
      now.header.resumed_at = job_position{from / steps, from % steps};
    starts_[{file, log.size() - 1}] = attempts_;
    saved_part state{from, {}};
    for (auto n = from; n < end; ++n) {
      const line_name name{file, log.size() - 1, now.lines.size()};
      now.lines.push_back(part(n, rank, world));
      all_.emplace_back(n, attempts_);
      state.seen.push_back(name);
      seen_.push_back(name);
      if (((n + 1) % 3 == 0 || n + 1 == job_steps) && n < saved)
        parts_[{n + 1, world}][rank] = state;
    }
  }

  /// The last save may not be complete when the process dies.
  std::uint64_t last_saved(std::uint64_t end, bool fails) {
    return fails && end > 0 && random() % 2 == 0 ? end - 1 : end;
  }

  std::size_t attempts_ = 0;
  std::map<set_name, set_parts> parts_;
  /// By beginning and world size: what was seen before.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<line_name>> before_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> starts_;
  /// Step and attempt of every line.
  std::vector<std::pair<std::uint64_t, std::size_t>> all_;
  std::vector<line_name> seen_;
};

audit_report judge(const simulated_job& job, std::mt19937& random) {
  audit audit;
  for (std::uint64_t n = 0; n < job_steps; ++n)
    audit.expect(part(n, 0, 1));
  std::vector<std::size_t> files(job.logs.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    files[i] = i;
  std::shuffle(files.begin(), files.end(), random);
  audit.begin_logs();
  for (auto file : files) {
    audit.begin_log();
    for (const auto& x : job.logs[file]) {
      audit.begin_attempt(x.header);
      for (const auto& line : x.lines)
        audit.deliver(line);
    }
  }
  return audit.report();
}

/// Calls `each` with many jobs and their certain lines.
template <class Each>
void for_each_job(Each each) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    simulated_job job{seed};
    job.run();
    if (const auto lines = job.certain_lines(); !lines.empty())
      each(job, lines);
  }
}

/// Damages one certain line of many jobs. `damage` returns what must be found, or nothing if it did
/// no damage; what was handed over in another attempt as well may also be called changed.
template <class Damage>
void every_time(Damage damage) {
  std::size_t again = 0;
  for_each_job([&](simulated_job& job, const std::vector<line_name>& lines) {
    const auto chosen = lines[job.random() % lines.size()];
    const bool once = job.handed_over_once(chosen);
    const std::optional<counts> expected = damage(job, chosen);
    if (!expected)
      return;
    again += once ? 0 : 1;
    auto found = judge(job, job.random).counts;
    if (!once)
      found[3] = (*expected)[3];
    REQUIRE(found == *expected);
  });
  REQUIRE(again > 20);
}

} // namespace

TEST_CASE("history: a job of any attempts over any world sizes is good") {
  hash128 whole;
  for (std::uint64_t n = 0; n < job_steps; ++n)
    whole += part(n, 0, 1).digest;
  std::uint64_t attempts = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    simulated_job job{seed};
    job.run();
    const auto report = judge(job, job.random);
    REQUIRE(report.counts == counts{});
    REQUIRE(report.steps == job_steps);
    REQUIRE(report.rows == job_steps * batch_rows);
    REQUIRE(report.digest == whole);
    attempts += report.attempts;
  }
  REQUIRE(attempts > 9000);
}

namespace {

/// A process that hands over steps `from` to `to` of the job, for all ranks or one.
start run_of(std::uint64_t world, std::optional<std::uint64_t> rank, std::uint64_t from,
             std::uint64_t to) {
  start result{{.world_size = world, .rank = rank}, {}};
  if (from > 0)
    result.header.resumed_at = job_position{from / steps, from % steps};
  for (auto n = from; n < to; ++n)
    for (std::uint64_t r = 0; r < world; ++r)
      if (!rank || *rank == r)
        result.lines.push_back(part(n, r, world));
  return result;
}

audit_report report_of(std::vector<std::vector<start>> logs) {
  simulated_job job{0};
  job.logs = std::move(logs);
  return judge(job, job.random);
}

std::uint64_t lost_of(std::vector<std::vector<start>> logs) {
  const auto found = report_of(std::move(logs)).counts;
  CHECK(found == counts{found[0], 0, 0, 0, 0});
  return found[0];
}

} // namespace

TEST_CASE("history: a job that started over and ended early has lost what it had before") {
  for (std::uint64_t world : {1, 2}) {
    CHECK(lost_of({{run_of(world, {}, 0, job_steps), run_of(world, {}, 0, 5)}})
          == (job_steps - 5) * batch_rows);
    CHECK(lost_of({{run_of(world, {}, 0, job_steps), run_of(world, {}, 0, 0)}})
          == job_steps * batch_rows);
    // Its last steps were left out.
    CHECK(lost_of({{run_of(world, {}, 0, job_steps), run_of(world, {}, 0, job_steps - 2)}})
          == 2 * batch_rows);
    CHECK(lost_of({{run_of(world, {}, 0, 5), run_of(world, {}, 0, job_steps)}}) == 0);
    // It left steps 3 and 4 out, and died after it had saved; then it resumed.
    CHECK(lost_of(
              {{run_of(world, {}, 0, 7), run_of(world, {}, 0, 3), run_of(world, {}, 5, job_steps)}})
          == 2 * batch_rows);
    CHECK(lost_of({{run_of(world + 1, {}, 0, 7), run_of(world, {}, 0, 3),
                    run_of(world, {}, 5, job_steps)}})
          == 2 * batch_rows);
  }
  CHECK(lost_of({{run_of(1, 0, 0, job_steps), run_of(1, 0, 0, 5)}})
        == (job_steps - 5) * batch_rows);
  CHECK(lost_of({{run_of(2, 0, 0, job_steps), run_of(2, 0, 0, 5)},
                 {run_of(2, 1, 0, job_steps), run_of(2, 1, 0, 4)}})
        == (job_steps - 4) * batch_rows);
}

TEST_CASE("history: a rank in a process of its own stands where it got farthest") {
  // What it saved at the end belongs to what the other one saves there later.
  CHECK(lost_of({{run_of(2, 0, 0, job_steps), run_of(2, 0, 0, 3)},
                 {run_of(2, 1, 0, 2), run_of(2, 1, 0, job_steps)}})
        == 0);
}

TEST_CASE("history: a rank that came back where it was lost goes on with its attempt") {
  const auto continued = [](std::uint64_t begin, std::uint64_t end) {
    auto x = run_of(2, 1, begin, end);
    x.header.continues = true;
    return x;
  };
  const auto lost_with = [](std::vector<start> rank_1) {
    return lost_of({{run_of(2, 0, 0, job_steps)}, std::move(rank_1)});
  };
  CHECK(lost_with({run_of(2, 1, 0, 5), continued(5, 9), continued(9, job_steps)}) == 0);
  CHECK(lost_with({continued(0, 3), continued(3, job_steps)}) == 0);
  CHECK(lost_with({run_of(2, 1, 0, 7), continued(5, job_steps)}) == 0);
  CHECK(lost_with({run_of(2, 1, 0, 5), continued(6, job_steps)}) == batch_rows);
  CHECK(lost_with({run_of(2, 1, 0, 5), continued(5, job_steps - 2)}) == 2 * batch_rows);
  // All went back to step 4, and then the rank was lost at step 8.
  CHECK(
      lost_of({{run_of(2, 0, 0, 11), run_of(2, 0, 4, job_steps)},
               {run_of(2, 1, 0, 6), continued(6, 11), run_of(2, 1, 4, 8), continued(8, job_steps)}})
      == 0);
}

TEST_CASE("history: a rank that begins twice in a term has not gone back with all others") {
  const auto in_term = [](std::uint64_t term, std::uint64_t rank, std::uint64_t begin,
                          std::uint64_t end) {
    auto x = run_of(2, rank, begin, end);
    x.header.term = term;
    return x;
  };
  const auto repeated = [](std::vector<std::vector<start>> logs) {
    return report_of(std::move(logs)).count(fault_kind::repeated);
  };
  const auto other = in_term(1, 0, 0, job_steps);
  // It says that it resumes at step 3, without "continues", and hands over two steps again.
  CHECK(repeated({{other}, {in_term(1, 1, 0, 5), in_term(1, 1, 3, job_steps)}}) == batch_rows);
  CHECK(repeated({{other}, {in_term(1, 1, 0, 5), in_term(1, 1, 5, 5), in_term(1, 1, 5, job_steps)}})
        == 0);
  CHECK(repeated({{other}, {in_term(1, 1, 0, 5), in_term(1, 1, 0, job_steps)}})
        == 5 * batch_rows / 2);
  // All went back.
  CHECK(repeated({{in_term(1, 0, 0, 6), in_term(2, 0, 3, job_steps)},
                  {in_term(1, 1, 0, 5), in_term(2, 1, 3, job_steps)}})
        == 0);
}

TEST_CASE("history: a job whose newest set was torn resumes from an older one, with fewer ranks") {
  CHECK(lost_of({{run_of(3, 0, 0, 8), run_of(2, 0, 4, job_steps)},
                 {run_of(3, 1, 0, 8), run_of(2, 1, 4, job_steps)},
                 {run_of(3, 2, 0, 8), run_of(3, 2, 6, 6)}})
        == 0);
}

TEST_CASE("history: where a log was left out the report says whose, and from which attempt on") {
  const auto report = report_of({{run_of(2, 0, 0, 6), run_of(3, 0, 4, job_steps)},
                                 {run_of(2, 1, 0, 6), run_of(3, 1, 4, job_steps)}});
  REQUIRE(report.count(fault_kind::lost) == (job_steps - 4) * batch_rows);
  for (const auto& x : report.findings)
    CHECK(x.text == "no log of rank 2 of 3 in the attempt that began with epoch 0 step 4");
}

TEST_CASE("history: a log without a line is an attempt of its own, beside others it is none") {
  CHECK(report_of({{}}).attempts == 1);
  CHECK(report_of({{}, {}}).attempts == 1);
  CHECK(report_of({{}, {run_of(1, {}, 0, 3)}}).attempts == 1);
}

TEST_CASE("history: a row that is not there is lost") {
  every_time([](auto& job, const auto& at) {
    auto& x = job.line(at);
    erase_row(x, job.random() % x.ids.size());
    return counts{1, 0, 0, 0, 0};
  });
}

TEST_CASE(
    "history: a line that is not there is its step lost, also where an earlier attempt had it") {
  every_time([](auto& job, const auto& at) -> std::optional<counts> {
    auto& lines = job.logs[at.log][at.start].lines;
    // Then the process has not got there, and if ranks have processes of their own, another that
    // began with the same step stands for it.
    if (at.line + 1 == lines.size() && !job.alone)
      return std::nullopt;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at.line));
    return counts{batch_rows, 0, 0, 0, 0};
  });
}

TEST_CASE("history: a line twice is each of its rows repeated") {
  every_time([](auto& job, const auto& at) {
    auto& lines = job.logs[at.log][at.start].lines;
    const auto copy = lines[at.line];
    lines.push_back(copy);
    return counts{0, copy.ids.size(), 0, 0, 0};
  });
}

TEST_CASE("history: lines before the step from which a start resumes are repeated") {
  std::size_t found = 0;
  for_each_job([&](simulated_job& job, const std::vector<line_name>& lines) {
    const auto at = lines.back();
    auto& now = job.logs[at.log][at.start];
    if (!job.of_last_attempt(at) || !now.header.resumed_at)
      return;
    const auto first = now.header.resumed_at->epoch * steps + now.header.resumed_at->step;
    now.lines.insert(now.lines.begin(), part(job.random() % first, now.header.rank.value_or(0),
                                             now.header.world_size));
    REQUIRE(judge(job, job.random).counts == counts{0, now.lines.front().ids.size(), 0, 0, 0});
    ++found;
  });
  REQUIRE(found > 50);
}

TEST_CASE("history: two samples in each other's place are moved") {
  every_time([](auto& job, const auto& at) {
    auto& x = job.line(at);
    std::swap(x.ids.front(), x.ids.back());
    seal(x);
    return counts{0, 0, 2, 0, 0};
  });
}

TEST_CASE("history: a wrong digest, and a line of another world, are changed") {
  every_time([](auto& job, const auto& at) {
    job.line(at).digest.low ^= 1;
    return counts{0, 0, 0, 1, 0};
  });
  every_time([](auto& job, const auto& at) -> std::optional<counts> {
    if (at.line + 1 == job.logs[at.log][at.start].lines.size())
      return std::nullopt;
    job.line(at).world_size = 7;
    return counts{batch_rows, 0, 0, 1, 0};
  });
}

TEST_CASE("history: what differs from an earlier attempt is changed, whether it counts or not") {
  std::size_t found = 0;
  for_each_job([&](simulated_job& job, const std::vector<line_name>& lines) {
    auto& x = job.line(lines[job.random() % lines.size()]);
    const auto row = job.random() % x.pixels.size();
    if (job.times_delivered(x.epoch, x.positions[row]) < 2)
      return;
    x.pixels[row].high ^= 1;
    REQUIRE(judge(job, job.random).count(fault_kind::changed) >= 1);
    ++found;
  });
  REQUIRE(found > 20);
}

TEST_CASE("history: attempts are put together by what they begin with, missing ones left out") {
  using numbers = std::vector<std::vector<std::size_t>>;
  const attempt_key a{2, {0, 0}};
  const attempt_key b{3, {0, 5}};
  const attempt_key c{2, {0, 9}};
  CHECK(order_of_attempts({{a, b}, {a, b}, {b}}) == numbers{{0, 1}, {0, 1}, {1}});
  CHECK(order_of_attempts({{b}, {a, b}, {a}}) == numbers{{1}, {0, 1}, {0}});
  CHECK(order_of_attempts({{a, c}, {a, b, c}}) == numbers{{0, 2}, {0, 1, 2}});
  CHECK(order_of_attempts({{a, a, b}, {a, b}}) == numbers{{0, 1, 2}, {1, 2}});
  CHECK(order_of_attempts({{a, b}, {b, a}}).size() == 2);
  const attempt_key all{2, {0, 0}, true};
  CHECK(order_of_attempts({{a, all}, {a, b}, {b}}) == numbers{{0, 2}, {0, 1}, {1}});
  CHECK(order_of_attempts({{a, all}, {a, a}, {a}}) == numbers{{1, 2}, {0, 1}, {1}});
  // A job went back from step 5 to step 3: what all ranks have came last, and not the later start.
  const attempt_key three{3, {0, 0}};
  const attempt_key back{2, {0, 3}};
  CHECK(order_of_attempts({{three, back}, {three, back}, {three, b}})
        == numbers{{0, 2}, {0, 2}, {0, 1}});
  CHECK(order_of_attempts({{}, {a}}) == numbers{{}, {0}});
  CHECK(order_of_attempts({}).empty());
}

} // namespace leat::command_history_test
