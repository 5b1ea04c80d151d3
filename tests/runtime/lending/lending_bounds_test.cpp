#include "runtime/rows/row_codec.hpp"
#include "tests/runtime/lending/lending_peers.hpp"
#include "tests/runtime/lending/lending_rank.hpp"

#include <leat/leat.hpp>

// What ranks and helpers hold of peers that do not keep to what is usual.

namespace leat::lending_bounds_test {
namespace {

using test::helper;
using test::joining;
using test::lending_rank;
using test::log_lines;
using test::odd_helper;
using test::odd_rank;
using test::plain_guard;

constexpr std::size_t mega = std::size_t{1} << 20;

bool is_any(const log_lines& log, std::string_view part) {
  const auto lines = log.all();
  return std::any_of(lines.begin(), lines.end(), [&](const auto& x) { return has(x, part); });
}

TEST_CASE("lending bounds: a helper cuts off a rank that cancels offers and takes no answers") {
  constexpr std::uint64_t offers = 4000;
  constexpr std::uint64_t offers_per_note = 1000;
  const auto rows = encode(std::vector<offered_row>(most_offered_rows));
  // Of which the helper's first note takes more than there is.
  odd_rank rank{1, [&](odd_rank::link& by, const bulk_head&) {
                  for (std::uint64_t i = 1; i <= offers; ++i)
                    by.send(frame_with(frame_kind::offer, i, rows));
                  for (std::uint64_t i = 1; i <= offers;) {
                    lending_note note{.what = lending_note::kind::cancel};
                    while (i <= offers && note.offers.size() < offers_per_note)
                      note.offers.push_back(i++);
                    by.send(frame_of(note));
                  }
                }};
  log_lines log;
  auto how = joining(rank);
  how.log = log.writer();
  const helper x{how};
  while (rank.connections() < 2)
    std::this_thread::yield();
  REQUIRE(has(log.all().at(0), "it does not take what it has asked for"));
}

TEST_CASE("lending bounds: offers in pieces that a helper has no memory for are for others") {
  static std::atomic<bool> is_held;
  const map_stage waiting{.name = "lent_waiting@1",
                          .make = [] { return [](sample&, context&) { is_held.wait(true); }; }};
  register_map("lent_waiting@1", [=](const std::string&) { return waiting; });
  is_held = false;
  const auto data = count(4).map(waiting).batch(1);
  const auto plan = plan_of(data, nullptr);
  const auto job = encode(lent_job_of(data, describe(data, plan->shape.lanes), *plan));
  row_request request;
  request.own = {0, 0};
  const auto request_bytes = encode(request);
  // Two of these are more than a helper has room for: the first waits for its turn.
  constexpr std::size_t large = 160 * mega;
  const auto zeros = std::make_shared<const std::vector<char>>(most_payload_piece);
  const auto send_large = [&](odd_rank::link& by, std::uint64_t number) {
    for (std::size_t offset = 0; offset < large; offset += zeros->size())
      by.send({.kind = frame_kind::offer,
               .number = number,
               .words = encode(payload_piece{0, offset, large}),
               .payload = {{zeros->data(), zeros->size()}},
               .owner = zeros});
  };
  log_lines answers;
  const auto note_answer = answers.writer();
  odd_rank rank{64 * mega, [&](odd_rank::link& by, const bulk_head& x) {
                  if (x.kind == frame_kind::row) {
                    note_answer(std::to_string(x.number));
                    if (is_held.exchange(false))
                      is_held.notify_all();
                    return;
                  }
                  const auto note = decode_lending_note(x.words).value();
                  if (note.what == lending_note::kind::lend_me)
                    by.send(frame_with(frame_kind::offer, number_of_job, job));
                  if (note.what != lending_note::kind::ready)
                    return;
                  is_held = true;
                  by.send(frame_with(frame_kind::offer, 1,
                                     encode(std::vector{offered_row{.request = request_bytes}})));
                  send_large(by, 2);
                  send_large(by, 3);
                }};
  const helper x{joining(rank)};
  while (answers.all().size() < 2)
    std::this_thread::yield();
  REQUIRE(answers.all() == std::vector<std::string>{"3", "1"});
}

struct small_data {
  pipeline data = count(60).batch(4);
  std::shared_ptr<job_plan> plan = plan_of(data, nullptr);

  void check(lending_rank& rank) const {
    auto expected = expected_batches(plan, lending_rank::epochs);
    expected.pop_back(); // the end
    for (const auto& x : expected)
      REQUIRE(rank.next() == x);
  }
};

lending_note lend_me() {
  return {
      .what = lending_note::kind::lend_me, .version = own_version(), .cores = 1, .window = mega};
}

constexpr char one_byte = 'x';

TEST_CASE("lending bounds: a rank cuts off a helper that takes nothing, and makes its batches") {
  const small_data job;
  log_lines log;
  lending_rank rank{job.data,    job.plan, plain_guard(), 1, {.dead_after = 500'000'000},
                    log.writer()};
  odd_helper x{rank, 1, [](odd_helper&, const bulk_head&) {}};
  x.send(frame_of(lend_me()));
  job.check(rank);
  x.wait();
  while (log.all().empty())
    std::this_thread::yield();
  REQUIRE(is_any(log, "it has taken nothing of what waits for it"));
}

TEST_CASE("lending bounds: a rank cuts off a helper that begins a row and does not go on") {
  const small_data job;
  log_lines log;
  lending_rank rank{job.data,    job.plan, plain_guard(), 1, {.dead_after = 2'500'000'000},
                    log.writer()};
  // As alive as the rank is, which says so once a second.
  odd_helper x{rank, 64 * mega, [](odd_helper& by, const bulk_head& head) {
                 if (head.kind == frame_kind::note)
                   by.answer(frame_of({.what = lending_note::kind::alive}));
               }};
  x.send(frame_of(lend_me()));
  x.send(frame_of({.what = lending_note::kind::ready, .has_data = true}));
  x.send({.kind = frame_kind::row,
          .number = 1,
          .words = encode(payload_piece{0, 0, 100 * mega}),
          .payload = {{&one_byte, 1}}});
  job.check(rank);
  x.wait();
  while (log.all().empty())
    std::this_thread::yield();
  REQUIRE(is_any(log, "the rest of a row has not come"));
}

TEST_CASE("lending bounds: a piece that does not follow the one before ends its link alone") {
  const small_data job;
  lending_rank rank{job.data, job.plan, plain_guard(), 1};
  odd_helper x{rank, 64 * mega, [](odd_helper&, const bulk_head&) {}};
  x.send(frame_of(lend_me()));
  x.send({.kind = frame_kind::row,
          .number = 1,
          .words = encode(payload_piece{0, 5, 100}),
          .payload = {{&one_byte, 1}}});
  x.wait();
  job.check(rank);
}

} // namespace
} // namespace leat::lending_bounds_test
