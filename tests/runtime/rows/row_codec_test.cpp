#include "runtime/rows/row_codec.hpp"
#include "runtime/sample/stored_sample.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::row_codec_test {
namespace {

/// Makes rows for others: all that it knows of a row are the bytes that it was sent.
class far_worker {
public:
  explicit far_worker(const pipeline& data, bad_sample_policy policy) {
    const auto plan = plan_of(data, nullptr);
    plan->bad_samples = policy;
    plan_ = plan;
    slot_ = std::make_unique<batch_slot>(plan_->layout, 1);
    function_.emplace(plan_, std::make_shared<worker_record>());
  }

  std::string made(std::string_view request) {
    const auto row = decode_request(request, *plan_);
    REQUIRE(row);
    row_result result;
    slot_->memory().begin_rows();
    if (row->edge) {
      function_->run(*row, {}, result);
      return encode(result);
    }
    function_->run(*row, places_.at(slot_->memory(), 0), result);
    return encode(result, *plan_->layout,
                  [&](std::size_t field) { return slot_->memory().row_of(field, 0); });
  }

private:
  std::shared_ptr<const job_plan> plan_;
  std::unique_ptr<batch_slot> slot_;
  std::optional<row_runner> function_;
  row_places places_;
};

/// All batches of a job whose rows and probes are made by a far_worker.
std::vector<finished_batch> batches_made_far_away(const std::shared_ptr<const job_plan>& plan,
                                                  far_worker& worker, std::size_t most) {
  const auto order = order_of_rank(*plan, 2);
  batch_slot slot{plan->layout, rows_of_rank(*plan)};
  batch_slot probes{std::make_shared<batch_layout>(), 16};
  row_places places;
  planned_batch next;
  std::vector<finished_batch> made;
  while (made.size() < most && (made.empty() || made.back().what == batch_plan::kind::batch)) {
    if (!order->open(next)) {
      if (!order->open_probe(next, 16)) {
        REQUIRE(order->wants_to_run());
        continue;
      }
      probes.open(next, false);
      for (std::size_t row = 0; row < probes.num_rows(); ++row) {
        REQUIRE(can_travel(probes.request(row)));
        REQUIRE(
            decode_result(worker.made(encode(probes.request(row))), nullptr, probes.result(row)));
        probes.finish(row);
      }
      order->close_probe(probes);
      probes.release();
      continue;
    }
    slot.open(next, false);
    for (std::size_t row = 0; row < slot.num_rows(); ++row) {
      REQUIRE(can_travel(slot.request(row)));
      const auto bytes = worker.made(encode(slot.request(row)));
      const auto target = places.at(slot.memory(), row);
      REQUIRE(decode_result(bytes, &target, slot.result(row)));
      slot.finish(row);
    }
    slot.close();
    made.push_back(finished(slot));
    slot.release();
  }
  return made;
}

/// Fields of each kind, with random numbers in them; some samples are bad.
map_function all_kinds(std::uint64_t bad) {
  return [bad](sample& x, context& c) {
    const auto number = c.rng()();
    x.set("id", x.id());
    if (number % 8 < bad)
      throw bad_sample(cause::corrupt, "drawn as a bad one");
    for (auto& value : x.make<std::uint32_t>("dense", {2, 3}))
      value = static_cast<std::uint32_t>(c.rng()());
    for (auto& value : x.make_ragged<float>("ragged", number % 5, {2}))
      value = static_cast<float>(c.rng().below(100));
    x.set("scalar", static_cast<std::int16_t>(number % 1000));
  };
}

filter_stage some() {
  return {.name = "some@1", .make = [] {
            return [](sample& x) { return static_cast<unsigned>(x.bytes("value")[0]) % 3 != 0; };
          }};
}

pipeline drawn(std::mt19937_64& chance) {
  const auto lanes = 1 + chance() % 3;
  const auto records = 6 + chance() % 60;
  auto data = chance() % 3 == 0 ? count(records) : count(records).shuffle({.seed = chance()});
  if (chance() % 3 == 0)
    data = mix({data, count(records + 3)}, {.rule = mix_rule::random, .seed = chance()});
  if (chance() % 2 == 0)
    data = data.repeat(1 + chance() % 3);
  if (chance() % 2 == 0)
    data = data.filter(some());
  if (chance() % 3 == 0)
    data = data.shuffle_buffer(2 * lanes + chance() % 9, chance());
  constexpr std::array ends{epoch_end::drop, epoch_end::mask, epoch_end::cycle};
  return data.map("kinds@1", all_kinds(chance() % 3))
      .batch(lanes * (1 + chance() % 3), {.lanes = lanes, .end = ends[chance() % 3]});
}

TEST_CASE("row_codec: rows of random pipelines that are made from their bytes alone give the same "
          "batches") {
  const auto first = std::random_device{}();
  for (std::uint64_t seed = first; seed < first + std::uint64_t{60}; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto data = drawn(chance);
    const auto plan = [&] {
      try {
        return plan_of(data, nullptr);
      } catch (const error&) { // has no batch, or no good sample
        return std::shared_ptr<job_plan>{};
      }
    }();
    if (!plan)
      continue;
    plan->bad_samples =
        plan->shape.is_indexed ? bad_sample_policy::substitute : bad_sample_policy::mask;
    constexpr std::size_t most = 30;
    far_worker worker{data, plan->bad_samples};
    REQUIRE(batches_made_far_away(plan, worker, most) == expected_batches(plan, 2, most));
  }
}

row_request request_with(payload_ptr content) {
  row_request row;
  row.epoch = 3;
  row.position = UINT64_MAX;
  row.own = {5, 6};
  row.when = {7, (pass_number{8} << 64) + 9};
  row.what.add(10);
  row.what.attach(0, payload_of_source, std::move(content));
  row.what.add("text");
  row.what.use({1, 2, 3});
  return row;
}

/// A job that knows the rows of request_with.
job_plan plan_of_iterators() {
  return plan_job(count(9).shuffle_buffer(6).batch(3));
}

TEST_CASE("row_codec: a request keeps all that it says, with content that is nowhere else") {
  sample x;
  x.set("dense", std::vector<int>{1, 2, 3}, {3});
  x.set("bytes", std::string_view{"abc"});
  x.count_read(77);
  const auto row = request_with(stored_sample::of(x));
  REQUIRE(can_travel(row));
  const auto found = decode_request(encode(row), plan_of_iterators());
  REQUIRE(found);
  REQUIRE(found->epoch == row.epoch);
  REQUIRE(found->position == row.position);
  REQUIRE(found->own == row.own);
  REQUIRE(found->when == row.when);
  REQUIRE(found->what == row.what);
  REQUIRE(found->what.uses() == row.what.uses());
  REQUIRE_FALSE(found->edge);
  sample read;
  static_cast<const stored_sample&>(*item_reader{found->what}.find_payload(payload_of_source))
      .copy_to(read);
  sample stored;
  static_cast<const stored_sample&>(*item_reader{row.what}.find_payload(payload_of_source))
      .copy_to(stored);
  REQUIRE(bytes_of(read) == bytes_of(stored));
  REQUIRE(sample_access::take_bytes_read(read) == 77);
}

TEST_CASE("row_codec: a record that was bad when it was read is bad in the other process") {
  const auto row = request_with(stored_sample::of(bad_sample(cause::truncated, "short")));
  const auto found = decode_request(encode(row), plan_of_iterators());
  REQUIRE(found);
  sample x;
  const auto content = item_reader{found->what}.find_payload(payload_of_source);
  try {
    static_cast<const stored_sample&>(*content).copy_to(x);
    FAIL("it is good");
  } catch (const bad_sample& problem) {
    REQUIRE(problem.why() == cause::truncated);
    REQUIRE(std::string{problem.what()} == "short");
  }
}

TEST_CASE("row_codec: content that is no sample stays where it is, and turns of lanes do") {
  class other final : public payload {};
  REQUIRE_FALSE(can_travel(request_with(std::make_shared<other>())));
  REQUIRE(can_travel({}));
}

TEST_CASE("row_codec: rows of another job are refused") {
  const auto indexed = plan_job(count(9).batch(3));
  row_request row;
  row.own.item = 8;
  REQUIRE(decode_request(encode(row), indexed));
  row.own.item = 9;
  REQUIRE_FALSE(decode_request(encode(row), indexed));
  row.own.item = 8;
  row.edge = 0;
  REQUIRE_FALSE(decode_request(encode(row), indexed));
  const auto filtered = plan_job(count(9).filter(some()).batch(3));
  REQUIRE(decode_request(encode(row), filtered)->edge == 0U);
  row.edge = filtered.samples->edges.size();
  REQUIRE_FALSE(decode_request(encode(row), filtered));
}

row_result a_result() {
  row_result x;
  x.delivered = {1, 2};
  x.digest = {3, 4};
  x.pixels = {5, 6};
  x.given = {{7, 8}, {0, UINT64_MAX}};
  x.bad = bad_row{9, "id", cause::wrong_shape, "text", "other"};
  x.seen.found = {10, "found", true};
  return x;
}

TEST_CASE("row_codec: a result keeps bad rows, failures, digests, counts and what was found") {
  auto x = a_result();
  x.what = row_result::outcome::failed;
  x.failure = error(errc::torn_file, {.stage = "a",
                                      .sample = "b",
                                      .file = "c",
                                      .offset = 0,
                                      .got = "d",
                                      .needed = "e",
                                      .list = {"f", ""}});
  row_result found;
  REQUIRE(decode_result(encode(x), nullptr, found));
  REQUIRE(found.what == x.what);
  REQUIRE(found.delivered == x.delivered);
  REQUIRE(found.digest == x.digest);
  REQUIRE(found.pixels == x.pixels);
  REQUIRE(found.given == x.given);
  REQUIRE(found.bad->position == 9);
  REQUIRE(found.bad->id == "id");
  REQUIRE(found.bad->why == cause::wrong_shape);
  REQUIRE(found.bad->text == "text");
  REQUIRE(found.bad->substitute == "other");
  REQUIRE(found.seen.found.number == 10);
  REQUIRE(found.seen.found.text == "found");
  REQUIRE(found.seen.found.bad);
  REQUIRE(found.failure->code() == errc::torn_file);
  REQUIRE(std::string{found.failure->what()} == x.failure->what());
  REQUIRE(found.failure->details().offset == 0U);
  REQUIRE(found.failure->details().list == x.failure->details().list);
  REQUIRE(encode(found) == encode(x));
}

TEST_CASE("row_codec: fields that do not fit the batch are refused, and so are all cut bytes") {
  const batch_layout fields{{{"dense", false, dtype::u8, {3}}, {"ragged", true, dtype::u32, {2}}}};
  batch_memory memory{std::make_shared<batch_layout>(fields), 1};
  row_places places;
  const auto target = places.at(memory, 0);
  const auto with = [&](std::size_t dense, std::size_t ragged) {
    const std::vector<std::byte> bytes(64, std::byte{7});
    return encode(a_result(), fields,
                  [&](std::size_t i) { return std::span{bytes}.first(i == 0 ? dense : ragged); });
  };
  row_result found;
  const auto good = with(3, 16);
  REQUIRE(decode_result(good, &target, found));
  REQUIRE(memory.row_of(0, 0).size() == 3);
  REQUIRE(memory.row_of(0, 0)[2] == std::byte{7});
  REQUIRE(memory.row_of(1, 0).size() == 16);
  REQUIRE(decode_result(with(3, 0), &target, found));
  REQUIRE_FALSE(decode_result(with(2, 16), &target, found));
  REQUIRE_FALSE(decode_result(with(4, 16), &target, found));
  REQUIRE_FALSE(decode_result(with(3, 12), &target, found));
  REQUIRE_FALSE(decode_result(good, nullptr, found));
  REQUIRE_FALSE(decode_result(encode(a_result()), &target, found));
  REQUIRE_FALSE(decode_result(good + '\0', &target, found));
  for (std::size_t size = 0; size < good.size(); ++size)
    REQUIRE_FALSE(decode_result(good.substr(0, size), &target, found));
}

TEST_CASE("row_codec: what is larger than any row is refused unread") {
  row_request row;
  row.what.add(std::string(most_row_bytes, 'x'));
  REQUIRE_FALSE(decode_request(encode(row), plan_of_iterators()));
}

} // namespace
} // namespace leat::row_codec_test
