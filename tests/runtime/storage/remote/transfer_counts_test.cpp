#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/expected_reads.hpp"
#include "runtime/storage/remote/far_stream.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <thread>
#include <vector>

namespace leat::transfer_counts_test {
namespace {

using namespace leat::test;
using std::chrono::nanoseconds;

constexpr std::int64_t much_later = std::int64_t{1} << 62;

TEST_CASE("time_inside: sums up over all that are in, and up to now") {
  time_inside x;
  CHECK(x.until(1000) == nanoseconds{0});
  x.enter(1000);
  CHECK(x.until(1010) == nanoseconds{10});
  x.enter(1020);
  CHECK(x.until(1030) == nanoseconds{40});
  x.leave(1040);
  CHECK(x.until(1050) == nanoseconds{70});
  x.leave(1060);
  CHECK(x.until(5000) == nanoseconds{80});
}

TEST_CASE("time_inside: a thread that comes late with an earlier time takes nothing away") {
  time_inside x;
  x.enter(1000);
  CHECK(x.until(2000) == nanoseconds{1000});
  x.enter(1500);
  x.leave(1900);
  CHECK(x.until(2000) == nanoseconds{1000});
  CHECK(x.until(2001) == nanoseconds{1001});
}

/// Asks what the sum will be at two times, both far ahead.
void wait_until_nobody_is_in(time_inside& x) {
  for (auto now = much_later;; ++now) {
    const auto sum = x.until(now);
    if (x.until(++now) == sum)
      return;
    std::this_thread::yield();
  }
}

TEST_CASE("transfer counts: whoever waits for the budget counts until there is room") {
  const temporary_directory dir;
  write_content(dir / "a", std::string(100'000, 'a'));
  far_store store{{.one_short_in = 0}};
  byte_budget budget{25'000};
  transfer_counts counts;
  {
    expected_reads reads{store.open({dir / "a"}), budget, counts};
    const std::vector<expected_range> two{{0, 0, 10'000}, {0, 20'000, 10'000}};
    reads.expect_soon(two);
    CHECK(counts.budget_waits == 0);
    const std::vector<expected_range> third{{0, 50'000, 10'000}};
    reads.expect_soon(third);
    CHECK(counts.budget_waits == 1);
    std::string bytes(10'000, 0);
    read_now(reads, 0, 0, std::as_writable_bytes(std::span{bytes}));
    wait_until_nobody_is_in(counts.without_budget); // the pool's thread may be about to say so
  }
  {
    transfer_counts of_stream;
    byte_budget small{100'000};
    const auto objects = store.open({dir / "a"});
    far_stream x{*objects, 0, 0, 100'000, small, of_stream};
    std::string bytes(70'000, 0);
    read_all(x, std::as_writable_bytes(std::span{bytes}));
    CHECK(of_stream.waiting.until(much_later) < std::chrono::hours{1});
  }
}

TEST_CASE("transfer counts: a thread that waits for bytes counts from when it began to") {
  const temporary_directory dir;
  write_content(dir / "a", std::string(100'000, 'a'));
  far_store store{{.one_short_in = 0}};
  byte_budget budget{0};
  transfer_counts counts;
  expected_reads reads{store.open({dir / "a"}), budget, counts};
  store.hold_after(0);
  std::string bytes(10'000, 0);
  std::thread reader{[&] { read_now(reads, 0, 0, std::as_writable_bytes(std::span{bytes})); }};
  store.wait_for_reads(1);
  CHECK(counts.waiting.until(much_later) > std::chrono::hours{1}); // it waits until then
  store.release();
  reader.join();
  CHECK(bytes == std::string(10'000, 'a'));
}

TEST_CASE("transfer counts: requests, refusals and retries of servers") {
  const temporary_directory dir;
  write_content(dir / "a", std::string(50'000, 'a'));
  const fault_server server{
      dir.path(), [](const auto& x) { return x.number % 4 == 1 ? fault::too_many : fault::none; }};
  const http_store store{impatient()};
  const auto by = store.open_transfers();
  const auto objects = store.open({store.full_name(server.url("a"))}, read_pattern::normal);
  std::string bytes(1000, 0);
  for (std::uint64_t i = 0; i < 20; ++i)
    read_now(*objects, 0, i * 2000, std::as_writable_bytes(std::span{bytes}));
  const auto& x = by->counts();
  CHECK(x.throttled >= 5);
  CHECK(x.retries + x.hedges >= x.throttled);
  CHECK(x.bytes >= 20'000);
  CHECK(x.requests >= 20);
  CHECK(x.requesting > 0);
  CHECK(x.answering <= x.requesting);
}

} // namespace
} // namespace leat::transfer_counts_test
