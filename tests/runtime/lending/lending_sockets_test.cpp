#include "runtime/network/links/link_error.hpp"
#include "runtime/rows/row_codec.hpp"
#include "tests/runtime/lending/lending_peers.hpp"
#include "tests/runtime/lending/lending_rank.hpp"
#include "tests/support/files.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/sanitized.hpp"

#include <leat/leat.hpp>

namespace leat::lending_sockets_test {
namespace {

using test::helper;
using test::joining;
using test::lending_rank;
using test::log_lines;
using test::odd_rank;
using test::plain_guard;

map_stage slow_map() {
  return {.name = "lent_slow@1", .make = [] {
            return [](sample& x, context& c) {
              std::this_thread::sleep_for(std::chrono::milliseconds{1});
              x.set("text", x.id() + std::to_string(c.rng()() % 1000));
            };
          }};
}

struct lent_data {
  explicit lent_data(std::size_t records) {
    register_map("lent_slow@1", [](const std::string&) { return slow_map(); });
    std::string bytes;
    for (std::size_t i = 0; i < records; ++i)
      bytes += {static_cast<char>(i), 'a', 'b', 'c'};
    test::write_content(in / "a.raw", bytes);
    data = raw_records(in / "a.raw", dtype::u8, {4}).shuffle({.seed = 1}).map(slow_map()).batch(8);
    plan = plan_of(*data, nullptr);
  }

  std::vector<finished_batch> expected() const {
    auto all = expected_batches(plan, lending_rank::epochs);
    all.pop_back(); // the end
    return all;
  }

  test::temporary_directory in;
  std::optional<pipeline> data;
  std::shared_ptr<job_plan> plan;
};

TEST_CASE(
    "lending over sockets: helpers with and without the data make the batches of one process") {
  const lent_data job{200};
  for (const bool has_data : {false, true}) {
    CAPTURE(has_data);
    lending_rank rank{*job.data, job.plan, plain_guard(), 1};
    auto how = joining(rank);
    how.cores = 2;
    if (has_data)
      how.data = {job.in.path()};
    const helper one{how};
    const helper other{how};
    std::vector<finished_batch> made;
    while (auto x = rank.next()) {
      made.push_back(std::move(*x));
      if (made.size() == 5) // both are there before the rest is made
        while (rank.stats().helpers < 2)
          std::this_thread::yield();
    }
    REQUIRE(made == job.expected());
    REQUIRE(rank.stats().rows_received > 0);
  }
}

TEST_CASE("lending over sockets: helpers that come and vanish at random change no batch") {
  const lent_data job{250};
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  lending_rank rank{*job.data, job.plan, plain_guard(), 1};
  std::vector<std::unique_ptr<helper>> helpers(3);
  std::vector<finished_batch> made;
  while (auto x = rank.next()) {
    made.push_back(std::move(*x));
    auto& one = helpers[chance() % helpers.size()];
    one = one ? nullptr : std::make_unique<helper>(joining(rank));
  }
  REQUIRE(made == job.expected());
}

TEST_CASE(
    "lending over sockets: who does not know the token, or another job's functions, helps nobody") {
  const lent_data job{60};
  lending_rank rank{*job.data, job.plan, plain_guard(), 1};
  auto how = joining(rank);
  how.token = "guessed";
  const helper stranger{how};
  std::vector<finished_batch> made;
  while (auto x = rank.next())
    made.push_back(std::move(*x));
  REQUIRE(made == job.expected());
  REQUIRE(rank.stats().rows_lent == 0);
}

TEST_CASE("lending over sockets: a rank that cuts a helper off again and again is named once") {
  odd_rank rank{1 << 20, [](odd_rank::link&, const bulk_head&) { break_link("a test", "none"); }};
  log_lines log;
  auto how = joining(rank);
  how.log = log.writer();
  {
    const helper x{how};
    while (rank.connections() < 4)
      std::this_thread::yield();
  }
  const auto lines = log.all();
  REQUIRE(lines.size() == 1);
  REQUIRE(lines[0].starts_with("does not help 127.0.0.1:"));
}

TEST_CASE("lending over sockets: a helper says why a rank refuses it, or why it refuses a job") {
  const bool refuses = GENERATE(false, true);
  odd_rank rank{1 << 20, [&](odd_rank::link& by, const bulk_head& x) {
                  const auto note = decode_lending_note(x.words).value();
                  if (note.what != lending_note::kind::lend_me)
                    break_link("a test", "none");
                  if (refuses)
                    by.send(frame_of({.what = lending_note::kind::refused, .text = "no room"}));
                  else
                    by.send(frame_with(frame_kind::offer, number_of_job, "not a job"));
                }};
  log_lines log;
  auto how = joining(rank);
  how.log = log.writer();
  {
    const helper x{how};
    while (rank.connections() < 2)
      std::this_thread::yield();
  }
  const auto lines = log.all();
  REQUIRE(lines.size() == 1);
  REQUIRE(has(lines[0], refuses ? "no room" : "cannot help"));
}

TEST_CASE("lending over sockets: what a helper logs to may throw, which ends it") {
  odd_rank rank{1 << 20, [](odd_rank::link&, const bulk_head&) { break_link("a test", "none"); }};
  auto how = joining(rank);
  how.log = [](const std::string&) { throw std::runtime_error("no log"); };
  REQUIRE_THROWS_AS(run_worker(how), std::runtime_error);
}

TEST_CASE("lending over sockets: a helper makes no more rows than its rank takes") {
  // Each answer is sent alone, and the rank takes two of them: that many are on the way, one waits.
  constexpr std::size_t row_bytes = std::size_t{1} << 20;
  constexpr std::uint64_t offers = 40;
  static std::atomic<std::size_t> made;
  const map_stage large{.name = "lent_large@1", .make = [] {
                          return [](sample& x, context&) {
                            ++made;
                            x.set("text", std::string(row_bytes, 'x'));
                          };
                        }};
  register_map("lent_large@1", [=](const std::string&) { return large; });
  const auto data = count(offers).map(large).batch(1);
  const auto plan = plan_of(data, nullptr);
  const auto job = encode(lent_job_of(data, describe(data, plan->shape.lanes), *plan));
  std::vector<std::string> requests;
  for (std::uint64_t i = 0; i < offers; ++i) {
    row_request row;
    row.position = i;
    row.own = {i, 0};
    requests.push_back(encode(row));
  }
  std::atomic<std::size_t> answers = 0;
  made = 0; // the plan has made some
  odd_rank rank{row_bytes + 4096, [&](odd_rank::link& by, const bulk_head& x) {
                  if (x.kind == frame_kind::row) {
                    ++answers;
                    return;
                  }
                  const auto note = decode_lending_note(x.words).value();
                  if (note.what == lending_note::kind::lend_me)
                    by.send(frame_with(frame_kind::offer, number_of_job, job));
                  if (note.what == lending_note::kind::ready)
                    for (std::uint64_t i = 0; i < offers; ++i)
                      by.send(frame_with(frame_kind::offer, i + 1,
                                         encode(std::vector{offered_row{.request = requests[i]}})));
                }};
  {
    const helper x{joining(rank)};
    while (answers < 2)
      std::this_thread::yield();
    // As long as a rank takes to make some more, if it did.
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  REQUIRE(made == 3);
}

TEST_CASE("lending over sockets: rows larger than a frame travel in pieces") {
  constexpr std::size_t row_bytes = std::size_t{17} << 20;
  const map_stage larger{.name = "lent_larger@1", .make = [] {
                           return [](sample& x, context& c) {
                             std::this_thread::sleep_for(std::chrono::milliseconds{50});
                             x.set("text", std::string(row_bytes + c.rng()() % 1000, 'x'));
                           };
                         }};
  register_map("lent_larger@1", [=](const std::string&) { return larger; });
  const auto data = count(test::thread_sanitized ? 6 : 12).map(larger).batch(2);
  const auto plan = plan_of(data, nullptr);
  auto expected = expected_batches(plan, lending_rank::epochs);
  expected.pop_back(); // the end
  // Patient: the rank's worker, which has nothing else to do, does not take them back.
  lending_rank rank{data, plan, plain_guard(), 1, {.patience = 60'000'000'000}};
  const helper one{joining(rank)};
  while (rank.stats().helpers < 1)
    std::this_thread::yield();
  std::vector<finished_batch> made;
  while (auto x = rank.next())
    made.push_back(std::move(*x));
  REQUIRE(made == expected);
  const auto found = rank.stats();
  CAPTURE(found.rows_lent, found.rows_dealt_again, found.rows_declined, found.not_lent);
  CAPTURE(found.bytes_sent, found.bytes_received);
  REQUIRE(found.rows_received > 0);
  REQUIRE(found.bytes_received > row_bytes);
}

TEST_CASE("lending over sockets: with certificates only workers help, and rows are the same") {
  const lent_data job{100};
  const test::link_site site;
  auto guard = plain_guard();
  guard.certificates = certificates_in(site.issue("rank", {link_role::rank}), {link_role::rank});
  lending_rank rank{*job.data, job.plan, std::move(guard), 1};
  auto how = joining(rank);
  const helper plain{how};
  how.certificates = site.issue("worker", {link_role::worker});
  const helper known{how};
  std::vector<finished_batch> made;
  while (auto x = rank.next()) {
    made.push_back(std::move(*x));
    if (made.size() == 5)
      while (rank.stats().helpers < 1)
        std::this_thread::yield();
  }
  REQUIRE(made == job.expected());
  REQUIRE(rank.stats().helpers == 1);
  REQUIRE(rank.stats().rows_received > 0);
}

} // namespace
} // namespace leat::lending_sockets_test
