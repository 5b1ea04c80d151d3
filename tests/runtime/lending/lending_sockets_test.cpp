#include "tests/runtime/lending/lending_rank.hpp"
#include "tests/support/files.hpp"
#include "tests/support/link_site.hpp"

#include <leat/leat.hpp>

namespace leat::lending_sockets_test {
namespace {

using test::lending_rank;

map_stage slow_map() {
  return {.name = "lent_slow@1", .make = [] {
            return [](sample& x, context& c) {
              std::this_thread::sleep_for(std::chrono::milliseconds{1});
              x.set("text", x.id() + std::to_string(c.rng()() % 1000));
            };
          }};
}

guard_config plain_guard() {
  return {.at = *parse_ip("127.0.0.1"), .rules = {.token = secret{"known"}}};
}

/// A helper in threads of this process, as long as it lives.
class helper {
public:
  explicit helper(worker_options x) {
    x.stop = stop_.get_token();
    x.log = [](const std::string&) {};
    if (x.cores == 0)
      x.cores = 1;
    thread_ = std::thread{[x] { help_ranks(x); }};
  }
  ~helper() {
    stop_.request_stop();
    thread_.join();
  }

private:
  std::stop_source stop_;
  std::thread thread_;
};

worker_options joining(const lending_rank& x) {
  return {.join = "127.0.0.1:" + std::to_string(x.port()), .token = "known"};
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

TEST_CASE("lending over sockets: with certificates only workers help, and rows are the same") {
  const lent_data job{100};
  const test::link_site site;
  auto guard = plain_guard();
  guard.certificates = certificates_in(site.issue("rank", {link_role::rank}), {link_role::rank});
  lending_rank rank{*job.data, job.plan, std::move(guard), 1};
  auto how = joining(rank);
  const helper plain{how};
  how.certs = site.issue("worker", {link_role::worker});
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
