#include "tests/tools/leat/verify/audited_lines.hpp"
namespace leat::command_audit_test {

using namespace leat::command;

namespace {

using attempt = std::vector<batch_line>;

/// Lines of the job's steps first .. last-1.
attempt make_attempt(std::uint64_t first, std::uint64_t last, std::uint64_t world_size) {
  attempt lines;
  for (auto n = first; n < last; ++n)
    for (std::uint64_t rank = 0; rank < world_size; ++rank)
      lines.push_back(part(n, rank, world_size));
  return lines;
}

/// A job that was broken off twice: the second attempt hands steps 3 and 4 over again, and dies
/// before its last rank has step 9; the third begins there.
std::vector<attempt> broken_job() {
  std::vector<attempt> job{make_attempt(0, 5, 2), make_attempt(3, 10, 3),
                           make_attempt(9, job_steps, 1)};
  job[1].pop_back();
  return job;
}

/// Each rank's lines keep their order.
void interleave(attempt& lines, std::mt19937& random) {
  std::map<std::uint64_t, std::deque<batch_line>> of_rank;
  for (const auto& x : lines)
    of_rank[x.rank.value_or(0)].push_back(x);
  std::shuffle(lines.begin(), lines.end(), random);
  for (auto& x : lines) {
    auto& from = of_rank[x.rank.value_or(0)];
    x = std::move(from.front());
    from.pop_front();
  }
}

/// The order of the job's first steps.
void expect(audit& to, std::uint64_t end) {
  for (std::uint64_t n = 0; n < end; ++n)
    to.expect(part(n, 0, 1));
}

audit_report judge(const std::vector<attempt>& job, std::mt19937& random) {
  audit audit;
  expect(audit, job_steps);
  for (auto lines : job) {
    interleave(lines, random);
    audit.begin_logs();
    for (const auto& line : lines)
      audit.deliver(line);
  }
  return audit.report();
}

/// A line that counts, and that no other attempt has: steps 0-2 and 5-8 and 10 up.
batch_line& random_line(std::vector<attempt>& job, std::mt19937& random) {
  for (;;) {
    auto& lines = job[random() % job.size()];
    auto& line = lines[random() % lines.size()];
    auto n = line.epoch * steps + line.step;
    if (n != 3 && n != 4 && n != 9)
      return line;
  }
}

/// Runs `damage` on a job again and again, each time at another place.
template <class Damage>
void every_time(const counts& expected, Damage damage) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    auto job = broken_job();
    damage(job, random);
    auto report = judge(job, random);
    REQUIRE(report.counts == expected);
    REQUIRE(report.clean() == (expected == counts{}));
  }
}

} // namespace

TEST_CASE("audit: a job broken twice and rescaled is good, however its ranks take turns") {
  every_time({}, [](auto&, auto&) {});
}

TEST_CASE("audit: steps, rows, attempts and the digest are those that count") {
  std::mt19937 random{1};
  auto report = judge(broken_job(), random);
  hash128 whole;
  for (const auto& line : make_attempt(0, job_steps, 1))
    whole += line.digest;
  REQUIRE(report.steps == job_steps);
  REQUIRE(report.rows == job_steps * batch_rows);
  REQUIRE(report.attempts == 3);
  REQUIRE(report.digest == whole);
}

TEST_CASE("audit: ranks of several attempts of one world size make up a step") {
  std::mt19937 random{21};
  auto job = broken_job();
  // Rank 0 ran alone to step 2, then rank 1; then the whole world continued from the set they left.
  attempt first{part(0, 0, 2), part(1, 0, 2), part(2, 0, 2)};
  attempt second{part(0, 1, 2), part(1, 1, 2)};
  job[0] = make_attempt(2, 5, 2);
  job.insert(job.begin(), {first, second});
  REQUIRE(judge(job, random).counts == counts{});
  SECTION("a rank of another world size does not") {
    job[1] = {part(0, 1, 3), part(1, 1, 3)};
    REQUIRE(judge(job, random).counts == counts{2 * batch_rows, 0, 0, 0, 0});
  }
  SECTION("a world size between them changes nothing") {
    job.insert(job.begin() + 1, attempt{part(0, 2, 3)});
    REQUIRE(judge(job, random).counts == counts{});
  }
}

TEST_CASE("audit: an id that the order has twice may come twice, not once nor thrice") {
  auto line = [](std::vector<std::string> ids) {
    batch_line x{.ids = std::move(ids)};
    for (std::uint64_t p = 0; p < x.ids.size(); ++p)
      x.positions.push_back(p);
    seal(x);
    return x;
  };
  auto counts_of = [&](std::vector<std::string> ids) {
    audit audit;
    audit.expect(line({"a", "b", "a", "c"}));
    audit.deliver(line(std::move(ids)));
    return audit.report().counts;
  };
  CHECK(counts_of({"a", "b", "a", "c"}) == counts{});
  CHECK(counts_of({"a", "b", "a"}) == counts{1, 0, 0, 0, 0});
  CHECK(counts_of({"a", "b"}) == counts{2, 0, 0, 0, 0});
  CHECK(counts_of({"a", "a", "b", "c"}) == counts{0, 0, 2, 0, 0});
  CHECK(counts_of({"a", "a", "a", "c"}) == counts{1, 1, 0, 0, 0});
  CHECK(counts_of({"a", "b", "c", "c"}) == counts{1, 1, 0, 0, 0});
}

TEST_CASE("audit: an epoch of the order that no log has is lost") {
  std::mt19937 random{3};
  REQUIRE(judge({make_attempt(0, steps, 2)}, random).counts
          == counts{batch_rows * steps, 0, 0, 0, 0});
}

TEST_CASE("audit: a row delivered twice in a line is repeated, and nothing else") {
  every_time({0, 1, 0, 0, 0}, [](auto& job, auto& random) {
    auto& line = random_line(job, random);
    copy_row(line, batch_line{line}, random() % line.ids.size());
  });
}

TEST_CASE("audit: a sample in another's place is repeated, and the other is lost") {
  every_time({1, 1, 0, 0, 0}, [](auto& job, auto& random) {
    auto& line = random_line(job, random);
    line.ids[1] = line.ids[0];
    seal(line);
  });
}

TEST_CASE("audit: a row in another step is moved") {
  std::mt19937 random{5};
  auto job = std::vector<attempt>{make_attempt(0, job_steps, 1)};
  copy_row(job[0][3], job[0][2], 4);
  erase_row(job[0][2], 4);
  REQUIRE(judge(job, random).counts == counts{0, 0, 1, 0, 0});
}

TEST_CASE("audit: a step that a rank gets after a later one is moved") {
  audit audit;
  expect(audit, steps);
  SECTION("all backwards") {
    for (auto s = steps; s-- > 0;)
      audit.deliver(part(s, 0, 1));
    REQUIRE(audit.report().counts == counts{0, 0, steps - 1, 0, 0});
  }
  SECTION("two steps of one rank of three") {
    for (std::uint64_t s = 0; s < steps; ++s)
      for (std::uint64_t rank = 0; rank < 3; ++rank)
        audit.deliver(part(rank == 1 && (s == 2 || s == 3) ? 5 - s : s, rank, 3));
    const auto report = audit.report();
    REQUIRE(report.counts == counts{0, 0, 1, 0, 0});
    REQUIRE(report.findings.front().step == 2);
    REQUIRE(report.findings.front().text == "handed over after epoch 0 step 3");
  }
}

TEST_CASE("audit: steps before the one that an attempt begins with are repeated, and still due") {
  audit audit;
  expect(audit, steps);
  audit.begin_attempt({.world_size = 1, .resumed_at = job_position{0, 3}});
  for (std::uint64_t s = 0; s < steps; ++s)
    audit.deliver(part(s, 0, 1));
  REQUIRE(audit.report().counts == counts{3 * batch_rows, 3 * batch_rows, 0, 0, 0});
}

TEST_CASE("audit: rows that another rank gets are moved") {
  every_time({0, 0, batch_rows, 0, 0}, [](auto& job, auto& random) {
    job = {make_attempt(0, job_steps, 2)};
    const auto step = random() % (job_steps);
    std::swap(job[0][2 * step].rank, job[0][2 * step + 1].rank);
  });
}

TEST_CASE("audit: other pixels in a later attempt are changed, and nothing else") {
  every_time({0, 0, 0, 1, 0}, [](auto& job, auto& random) {
    // Steps 3 and 4 are in the first two attempts.
    auto& lines = job[1];
    auto& line = lines[random() % 6];
    line.pixels[random() % line.pixels.size()].high ^= 1;
  });
}

TEST_CASE("audit: another sample in an incomplete step of an earlier attempt is changed") {
  std::mt19937 random{6};
  auto job = broken_job();
  auto& line = job[1].back();
  REQUIRE(line.epoch * steps + line.step == 9);
  std::swap(line.ids[0], line.ids[1]);
  seal(line);
  REQUIRE(judge(job, random).counts == counts{0, 0, 0, 2, 0});
}

TEST_CASE("audit: an unknown id is extra, and what was due is lost") {
  every_time({1, 0, 0, 0, 1}, [](auto& job, auto& random) {
    auto& line = random_line(job, random);
    line.ids[random() % line.ids.size()] = "elsewhere/1";
    seal(line);
  });
}

TEST_CASE("audit: masked and substituted rows are bad, and no fault") {
  std::mt19937 random{7};
  auto job = std::vector<attempt>{make_attempt(0, job_steps, 2)};
  auto& masked = job[0][0];
  masked.bad.push_back({masked.positions[1], masked.ids[1], "corrupt", {}});
  erase_row(masked, 1);
  auto& substituted = job[0][5];
  substituted.bad.push_back({substituted.positions[2], substituted.ids[2], "truncated", "s/1"});
  substituted.ids[2] = "s/1";
  seal(substituted);
  auto report = judge(job, random);
  REQUIRE(report.counts == counts{});
  REQUIRE(report.bad == 2);
}

TEST_CASE("audit: a bad row must be due where the log says") {
  std::mt19937 random{8};
  auto job = std::vector<attempt>{make_attempt(0, job_steps, 1)};
  auto& line = job[0][0];
  line.bad.push_back({line.positions[1], "s/nowhere", "corrupt", {}});
  erase_row(line, 1);
  REQUIRE(judge(job, random).counts == counts{1, 0, 0, 0, 1});
}

TEST_CASE("audit: a substitute that the list does not name is changed") {
  std::mt19937 random{9};
  auto job = std::vector<attempt>{make_attempt(0, job_steps, 1)};
  auto& line = job[0][0];
  line.bad.push_back({line.positions[1], line.ids[1], "corrupt", "s/1"});
  REQUIRE(judge(job, random).counts == counts{0, 0, 0, 1, 0});
}

TEST_CASE("audit: of each kind the first few are listed, with epoch, step, position and id") {
  std::mt19937 random{10};
  auto report = judge({make_attempt(0, steps, 1)}, random);
  REQUIRE(report.findings.size() == audit::listed);
  const auto& first = report.findings.front();
  REQUIRE(first.kind == fault_kind::lost);
  REQUIRE(first.epoch == 1);
  REQUIRE(first.step == 0);
  REQUIRE(first.position == 0);
  REQUIRE(first.id == part(steps, 0, 1).ids[0]);
}

TEST_CASE("audit: an order with a gap or a wrong digest is refused") {
  audit audit;
  audit.expect(part(0, 0, 1));
  REQUIRE_THROWS_AS(audit.expect(part(2, 0, 1)), std::runtime_error);
  auto wrong = part(1, 0, 1);
  wrong.digest.high ^= 1;
  REQUIRE_THROWS_AS(audit.expect(wrong), std::runtime_error);
}

} // namespace leat::command_audit_test
