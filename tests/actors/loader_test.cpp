#include "runtime/base/xxh3.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/whole_job.hpp"

#include <leat/testing.hpp>

namespace leat::loader_test {
namespace {

using namespace std::chrono_literals;

/// A pipeline whose rows depend on record, epoch and chance: any mistake shows in the pixels.
pipeline noisy(std::uint64_t records, std::uint64_t rows, batch_options batching = {},
               shuffle_options shuffle = {}) {
  return with_noise(count(records, 8).shuffle(shuffle))
      .map("text@1",
           [](sample& s, context& c) {
             s.set("text", std::string(c.rng().below(20), 'x') + s.id());
           })
      .batch(rows, batching);
}

loader_options quick(std::size_t workers, std::uint64_t epochs = 1) {
  return {.workers = workers, .epochs = epochs, .hash_pixels = true};
}

/// The ranks of a job, with what `options` says for each.
template <class Options>
std::vector<loader> ranks_of(const pipeline& data, std::uint64_t world, Options options) {
  std::vector<loader> ranks;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    auto mine = options(rank);
    mine.rank = rank;
    mine.world_size = world;
    ranks.emplace_back(data, mine);
  }
  return ranks;
}

/// The next global batch of all ranks, which must have one, and their snapshots after it.
job_step step_of(std::vector<loader>& ranks, std::vector<std::string>& parts) {
  std::vector<job_step> steps;
  parts.clear();
  for (auto& x : ranks) {
    auto batch = x.next();
    REQUIRE(batch);
    append(steps, *batch);
    parts.push_back(batch->snapshot());
  }
  REQUIRE(steps.size() == 1);
  return steps[0];
}

TEST_CASE("loader: batches are the same for any worker count, world size and policy") {
  const auto data = noisy(1000, 240, {.lanes = 24, .end = epoch_end::mask}, {.seed = 5});
  const auto reference = run_job(data, quick(0, 2), 1);
  REQUIRE(reference.size() == 10);
  for (std::uint64_t world : {1, 2, 3, 4, 8})
    for (std::size_t workers : {0, 1, 2, 3, 8, 64}) {
      if (test::thread_sanitized && world > 2)
        continue;
      for (auto policy : all_policies) {
        auto options = quick(workers, 2);
        options.dispatch = policy;
        CAPTURE(world, workers, static_cast<int>(policy));
        REQUIRE(run_job(data, options, world) == reference);
        if (workers == 0)
          break;
      }
    }
}

TEST_CASE("loader: a batch lives only in its lease, and a lease has one owner") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<batch>);
  STATIC_REQUIRE_FALSE(std::is_move_constructible_v<batch>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<batch>);
  STATIC_REQUIRE_FALSE(std::is_move_assignable_v<batch>);
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<batch>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<lease>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<lease>);
  loader x{count(20).batch(4), {.workers = 0, .leases = 2}};
  auto first = x.next();
  auto& same = first;
  first = std::move(same);
  REQUIRE(first->step() == 0); // a lease moved to itself is still held
  auto second = x.next();
  first = std::move(second); // and one that is moved over has ended
  REQUIRE(first->step() == 1);
  REQUIRE_FALSE(second);
  REQUIRE(x.next()->step() == 2);
}

TEST_CASE("loader: every position appears once, in order, with the record that the order says") {
  const auto data = noisy(1003, 60, {.lanes = 12});
  const auto steps = run_job(data, quick(3, 3), 2);
  REQUIRE(steps.size() == 3 * (1003 / 60));
  std::uint64_t position = 0;
  std::set<std::string> ids;
  for (const auto& step : steps) {
    if (step.step == 0) {
      position = 0;
      ids.clear();
    }
    for (const auto& row : step.rows) {
      REQUIRE(row.position == position++);
      REQUIRE(ids.insert(row.id).second);
    }
  }
}

TEST_CASE("loader: workers may come and go in mid-epoch") {
  const auto data = noisy(2000, 50);
  const auto reference = run_job(data, quick(0, 2), 1);
  for (auto policy : all_policies) {
    auto options = quick(2, 2);
    options.dispatch = policy;
    loader x{data, options};
    std::vector<job_step> steps;
    const std::size_t sizes[] = {5, 1, 9, 2, 3};
    while (auto batch = x.next()) {
      append(steps, *batch);
      if (steps.size() % 7 == 3)
        x.resize_workers(sizes[steps.size() / 7 % 5]);
    }
    REQUIRE(steps == reference);
  }
}

TEST_CASE("loader: a worker that dies is replaced and its rows are dealt again") {
  const auto data = noisy(600, 60);
  const auto reference = run_job(data, quick(0, 2), 1);
  for (auto policy : all_policies)
    for (std::uint64_t at : {0, 1, 59, 60, 301, 599})
      for (std::size_t workers : {1, 2, 3}) {
        auto options = quick(workers, 2);
        options.dispatch = policy;
        options.fault = drill({.deaths = {{workers - 1, at}}});
        CAPTURE(at, workers, static_cast<int>(policy));
        loader x{data, options};
        REQUIRE(next_steps(x) == reference);
        if (policy != dispatch_policy::on_demand || workers == 1)
          REQUIRE(x.stats().workers_replaced == 1);
      }
}

TEST_CASE("loader: all workers die, and those that take their places") {
  const auto data = noisy(600, 60);
  const auto reference = run_job(data, quick(0, 2), 1);
  for (auto policy : {dispatch_policy::round_robin, dispatch_policy::by_lane}) {
    auto options = quick(3, 2);
    options.dispatch = policy;
    options.fault = drill({.deaths = {{0, 10}, {1, 70}, {2, 130}, {0, 190}, {1, 250}, {0, 400}}});
    loader x{data, options};
    REQUIRE(next_steps(x) == reference);
    REQUIRE(x.stats().workers_replaced == 6);
  }
}

TEST_CASE("loader: restored at every step it gives the same state and the same later batches") {
  const auto data = noisy(300, 24, {.lanes = 24, .end = epoch_end::mask});
  const auto reference = run_job(data, quick(0, 2), 1);
  loader from{data, quick(2, 2)};
  const whole_job whole{from};
  REQUIRE(whole.steps == reference);
  for (std::size_t at = 0; at < whole.states.size(); ++at) {
    CAPTURE(at);
    loader x{data, quick(at % 4, 2)};
    REQUIRE(x.restore_parts({whole.states[at]}).global_step == at);
    const whole_job rest{x}; // the first state without a step in between
    REQUIRE(rest.steps == tail_of(reference, at));
    REQUIRE(rest.states == tail_of(whole.states, at));
    REQUIRE_FALSE(x.next());
  }
}

TEST_CASE("loader: parts of one world restore any other, sums included") {
  const auto data = noisy(480, 48, {.lanes = 24});
  const auto reference = run_job(data, quick(0, 2), 1);
  hash128 total;
  std::vector<std::string> parts;
  std::size_t done = 0;
  for (std::uint64_t world : {8, 6, 3, 8, 5, 1}) {
    auto ranks = ranks_of(data, world, [](auto rank) { return quick(rank % 3, 2); });
    for (std::uint64_t rank = 0; rank < world && !parts.empty(); ++rank) {
      auto point = ranks[rank].restore_parts(parts);
      REQUIRE(point.global_step == done);
      if (rank == 0)
        REQUIRE(point.digest == total);
    }
    for (int i = 0; i < 3; ++i) {
      const auto step = step_of(ranks, parts);
      REQUIRE(step == reference[done++]);
      total += step.digest;
    }
    std::reverse(parts.begin(), parts.end());
  }
}

TEST_CASE("loader: however ranks share parts at a restore, their next parts belong together") {
  constexpr std::uint64_t world = 3;
  const auto data = noisy(480, 48, {.lanes = 24});
  const auto reference = run_job(data, quick(0, 1), 1);
  using parts = std::vector<std::string>;
  // Takes `n` steps on all ranks, each of which begins with what `given` says, and returns the last
  // parts.
  const auto run = [&](std::size_t from, std::size_t n, const auto& given) {
    auto ranks = ranks_of(data, world, [](auto) { return quick(0, 1); });
    for (std::uint64_t rank = 0; rank < world; ++rank)
      if (const parts x = given(rank); !x.empty())
        REQUIRE(ranks[rank].restore_parts(x).global_step == from);
    parts last;
    for (std::size_t i = 0; i < n; ++i)
      REQUIRE(step_of(ranks, last) == reference[from + i]);
    return last;
  };
  const auto first = run(0, 3, [](auto) { return parts{}; });
  for (std::size_t way = 0; way < world + 2; ++way) {
    CAPTURE(way);
    const auto second = run(3, 2, [&](std::uint64_t rank) {
      return way < world ? parts{first[way]} : way == world ? parts{first[rank]} : first;
    });
    (void)run(5, 2, [&](auto) { return second; });
    REQUIRE(inspect_snapshot(second).global_step == 5);
    REQUIRE(inspect_snapshot(second).partial == (way < world));
  }
}

TEST_CASE("loader: seek and skip_first_batches go to any batch, before the first") {
  const auto data = noisy(50, 8, {.end = epoch_end::mask});
  const auto options = quick(1, 3);
  loader whole{data, options};
  const auto [all, states] = whole_job{whole};
  const auto steps = whole.batches_per_epoch().value();
  REQUIRE(all.size() == 3 * steps);
  for (std::size_t n = 0; n < all.size(); ++n) {
    CAPTURE(n);
    loader sought{data, options};
    sought.seek(n / steps, n % steps);
    loader skipped{data, options};
    skipped.skip_first_batches(n);
    loader resumed{data, options};
    const auto half = n / 2;
    if (half > 0)
      resumed.restore_parts({states[half]});
    resumed.skip_first_batches(n - half);
    for (auto* x : {&sought, &skipped, &resumed}) {
      std::vector<job_step> rest;
      while (auto batch = x->next()) {
        REQUIRE(batch->global_step() == n + rest.size());
        append(rest, *batch);
      }
      REQUIRE(rest == tail_of(all, n));
    }
  }
  loader end{data, options};
  end.skip_first_batches(3 * steps);
  CHECK_FALSE(end.next());
  // Epochs that the job does not have must not be left out of a longer one.
  for (const std::uint64_t too_many : {3 * steps + 1, 5 * steps + 2, UINT64_MAX}) {
    loader beyond{data, options};
    beyond.skip_first_batches(too_many);
    CHECK(beyond.position().epoch == 3);
    CHECK(beyond.position().step == 0);
    CHECK(beyond.position().global_step == 3 * steps);
    loader longer{data, quick(1, 5)};
    longer.restore_parts({beyond.snapshot()});
    const auto next = longer.next();
    REQUIRE(next);
    CHECK(next->epoch() == 3);
    CHECK(next->step() == 0);
  }
  CHECK_THROWS_AS(loader(data, options).seek(0, steps), error);
  CHECK_THROWS_AS(loader(data, options).seek(UINT64_MAX, 0), error);
  loader begun{data, options};
  begun.next();
  CHECK_THROWS_AS(begun.seek(0, 0), error);
  CHECK_THROWS_AS(begun.skip_first_batches(1), error);
}

TEST_CASE("loader: a restore of other data, seed or batch is refused with a list") {
  auto state = [](const pipeline& x) { return loader{x, quick(0)}.snapshot(); };
  const auto taken = state(noisy(300, 24));
  const auto restore = [&](const pipeline& x, const std::vector<std::string>& allow = {}) {
    loader{x, quick(0)}.restore_parts({taken}, {.allow = allow});
  };
  const auto other_map = count(300, 8).shuffle().map("other@1", [](sample&, context&) {}).batch(24);
  for (const auto& [data, difference] : std::vector<std::pair<pipeline, std::string>>{
           {noisy(301, 24), "records"},
           {noisy(300, 24, {}, {.seed = 1}), "seed"},
           {noisy(300, 24, {}, {.kind = shuffle_kind::none}), "shuffle"},
           {noisy(300, 25), "rows"},
           {noisy(300, 24, {.lanes = 12}), "lanes"},
           {other_map, "maps"}})
    check_refusal([&, of = &data] { restore(*of); }, errc::mismatch, {difference});
  CHECK_NOTHROW(restore(noisy(300, 24)));
  CHECK_NOTHROW(restore(noisy(300, 24, {.lanes = 12}), {"lanes"}));
  CHECK_NOTHROW(restore(other_map, {"maps"}));
  check_refusal([&] { restore(noisy(301, 24), {"records"}); }, errc::mismatch);
}

TEST_CASE("loader: floats of 16 bits are viewed as what they are") {
  const auto halves = [](sample& s, context&) {
    for (auto& x : s.make<f16>("half", {2}))
      x = {0x3C00};
    for (auto& x : s.make<bf16>("brain", {2}))
      x = {0x4000};
  };
  loader x{count(4, 8).map("halves@1", halves).batch(4), quick(0)};
  const auto batch = x.next();
  CHECK(static_cast<float>(batch->view<f16, 2>("half")(3, 1)) == 1);
  CHECK(static_cast<float>(batch->view<bf16, 2>("brain")(0, 0)) == 2);
  CHECK_THROWS_AS((batch->view<bf16, 2>("half")), error);
  CHECK_THROWS_AS((batch->view<std::uint16_t, 2>("brain")), error);
}

TEST_CASE("loader: tensors, ragged fields and wrong requests") {
  loader x{noisy(10, 4, {.end = epoch_end::mask}, {.kind = shuffle_kind::none}), quick(2)};
  auto batch = x.next();
  auto value = batch->view<std::uint8_t, 2>("value");
  REQUIRE(value.extents() == std::array<std::size_t, 2>{4, 8});
  CHECK(value(3, 0) == 3);
  CHECK(batch->view<float, 2>("noise").extent(1) == 4);
  auto text = batch->ragged("text");
  REQUIRE(text.size() == 4);
  CHECK(text.text(2).substr(text[2].size() - 7) == "count/2");
  CHECK_THROWS_AS((batch->view<float, 2>("value")), error);
  CHECK_THROWS_AS((batch->view<std::uint8_t, 3>("value")), error);
  CHECK_THROWS_AS((batch->view<std::uint8_t, 2>("values")), error);
  CHECK_THROWS_AS((batch->view<std::uint8_t, 2>("text")), error);
  CHECK_THROWS_AS(batch->ragged("value"), error);
  // A pointer to the data of a field of any type.
  const auto& read_only = *batch;
  const auto field = read_only.field("value");
  CHECK(field.data == reinterpret_cast<const std::byte*>(value.data()));
  CHECK(field.type == dtype::u8);
  CHECK(field.rank == 2);
  CHECK(field.shape == std::array<std::int64_t, max_dimensions>{4, 8});
  CHECK(field.strides == std::array<std::int64_t, max_dimensions>{8, 1});
  CHECK(field.where == device{.type = 1, .id = 0});
  CHECK_FALSE(field.is_ragged());
  CHECK(batch->mutable_data("noise")
        == reinterpret_cast<std::byte*>(batch->mutable_view<float, 2>("noise").data()));
  CHECK_THROWS_AS(read_only.field("values"), error);
  const auto bytes = read_only.field("text");
  CHECK(bytes.is_ragged());
  CHECK(bytes.data == text.values.data());
  CHECK(bytes.shape[0] == static_cast<std::int64_t>(text.values.size()));
  batch = x.next();
  batch = x.next();
  REQUIRE(batch->end_of_epoch());
  CHECK(batch->valid_rows() == 2);
  CHECK(batch->field("value").shape[0] == 4); // as size() says
  CHECK(std::vector<std::uint8_t>(batch->valid().begin(), batch->valid().end())
        == std::vector<std::uint8_t>{1, 1, 0, 0});
  CHECK(batch->view<std::uint8_t, 2>("value")(2, 0) == 0);
  CHECK(batch->ragged("text")[3].empty());
  CHECK(batch->positions() == std::vector<std::uint64_t>{8, 9});
}

/// Row p has p % 3 tokens, p boxes and two frames of 3 numbers, all of them p.
pipeline with_ragged_fields(std::uint64_t records) {
  return count(records, 8).map("ragged fields@1", [](sample& x, context& at) {
    const auto p = at.position();
    for (auto& token : x.make_ragged<std::int32_t>("tokens", p % 3))
      token = static_cast<std::int32_t>(p);
    x.set_ragged("boxes", std::vector<double>(4 * p, static_cast<double>(p)), {4});
    x.set_ragged("frames", std::vector<std::uint16_t>(6, static_cast<std::uint16_t>(p)), {3});
    x.set_ragged("bytes", std::vector<std::uint8_t>(p, static_cast<std::uint8_t>('a' + p)));
  });
}

TEST_CASE("loader: ragged fields of any type are values and offsets") {
  loader x{with_ragged_fields(6).batch(4, {.end = epoch_end::mask}), quick(2)};
  auto batch = x.next();
  const auto tokens = batch->ragged<std::int32_t, 1>("tokens");
  CHECK(std::vector<std::uint64_t>(tokens.offsets.begin(), tokens.offsets.end())
        == std::vector<std::uint64_t>{0, 0, 1, 3, 3});
  CHECK(tokens[2].extent(0) == 2);
  CHECK(tokens[2][1] == 2);
  const auto boxes = batch->ragged<double, 2>("boxes");
  REQUIRE(boxes.size() == 4);
  CHECK(boxes.values.extents() == std::array<std::size_t, 2>{6, 4});
  CHECK(boxes[0].size() == 0);
  CHECK(boxes[3].extents() == std::array<std::size_t, 2>{3, 4});
  CHECK(boxes[3](2, 3) == 3);
  CHECK(batch->ragged<std::uint16_t, 2>("frames")[1](1, 2) == 1);
  CHECK(batch->ragged("bytes").text(2) == "cc");
  CHECK(batch->ragged<std::uint8_t, 1>("bytes")[2].extent(0) == 2);
  const auto field = batch->field("boxes");
  CHECK(field.type == dtype::f64);
  CHECK(field.rank == 2);
  CHECK(field.shape == std::array<std::int64_t, max_dimensions>{6, 4});
  CHECK(field.strides == std::array<std::int64_t, max_dimensions>{4, 1});
  CHECK(field.offsets.data() == boxes.offsets.data());
  CHECK(field.bytes().size() == 6 * 4 * sizeof(double));
  CHECK_THROWS_AS((batch->ragged<float, 2>("boxes")), error);
  CHECK_THROWS_AS((batch->ragged<double, 1>("boxes")), error);
  CHECK_THROWS_AS((batch->view<double, 2>("boxes")), error);
  CHECK_THROWS_AS(batch->ragged("boxes"), error);
  batch = x.next();
  REQUIRE(batch->valid_rows() == 2);
  CHECK(batch->ragged<double, 2>("boxes")[1].extent(0) == 5);
  CHECK(batch->ragged<double, 2>("boxes")[2].size() == 0);
  CHECK(batch->ragged<double, 2>("boxes").offsets[4] == 9);
}

TEST_CASE("loader: fields of many dimensions have row-major strides, and rows where they lie") {
  const auto data = count(8).map("dimensions@1", [](sample& x, context& at) {
    const auto p = at.position();
    float n = 0;
    for (auto& value : x.make<float>("cube", {2, 3, 5}))
      value = static_cast<float>(p) + n++ / 64;
    std::vector<std::uint16_t> grids(p * 3 * 5);
    for (std::size_t i = 0; i < grids.size(); ++i)
      grids[i] = static_cast<std::uint16_t>(100 * p + i);
    x.set_ragged("grids", grids, {3, 5});
  });
  loader x{data.batch(4), quick(2)};
  const auto batch = x.next();
  const auto cube = batch->field("cube");
  CHECK(cube.rank == 4);
  CHECK(cube.shape == std::array<std::int64_t, max_dimensions>{4, 2, 3, 5});
  CHECK(cube.strides == std::array<std::int64_t, max_dimensions>{30, 15, 5, 1});
  CHECK(cube.size() == 4 * 30);
  CHECK(batch->view<float, 4>("cube")(3, 1, 2, 4) == 3 + 29.0F / 64);
  const auto field = batch->field("grids");
  CHECK(field.rank == 3);
  CHECK(field.shape == std::array<std::int64_t, max_dimensions>{6, 3, 5});
  CHECK(field.strides == std::array<std::int64_t, max_dimensions>{15, 5, 1});
  CHECK(field.bytes().size() == 6 * 15 * sizeof(std::uint16_t));
  const auto grids = batch->ragged<std::uint16_t, 3>("grids");
  CHECK(grids[2].extents() == std::array<std::size_t, 3>{2, 3, 5});
  CHECK(grids[2](1, 2, 4) == 200 + 29);
  CHECK(grids[3](0, 1, 0) == 300 + 5);
}

/// The hash of a row, from what the batch hands out.
hash128 hash_of_row(const batch& x, std::size_t row) {
  hash_stream hash;
  hash.add(x.positions().at(row));
  for (const auto& name : x.fields()) {
    const auto field = x.field(name);
    const auto outer = static_cast<std::size_t>(field.strides[0]) * size_of(field.type);
    const auto begin = field.is_ragged() ? field.offsets[row] : row;
    const auto end = field.is_ragged() ? field.offsets[row + 1] : row + 1;
    hash.add_raw(field.bytes().subspan(begin * outer, (end - begin) * outer));
  }
  return hash.digest128();
}

TEST_CASE("loader: content hashes are of the fields as a batch hands them out") {
  auto options = quick(2);
  options.hash_pixels = true;
  loader x{with_ragged_fields(8).batch(4), options};
  while (auto batch = x.next()) {
    const auto hashes = batch->content_hashes();
    REQUIRE(hashes.size() == 4);
    for (std::size_t row = 0; row < 4; ++row)
      CHECK(hashes[row] == hash_of_row(*batch, row));
  }
}

TEST_CASE("loader: holding all leases is an error, not a hang") {
  for (std::size_t workers : {0, 2}) {
    auto options = quick(workers);
    options.leases = 3;
    loader x{noisy(100, 10), options};
    std::vector<lease> held;
    for (int i = 0; i < 3; ++i)
      held.push_back(x.next());
    check_refusal([&] { (void)x.next(); }, errc::leases_exhausted);
    held.erase(held.begin());
    CHECK(x.next()->step() == 3);
  }
}

TEST_CASE("loader: bad samples follow the policy, and next() repeats its error") {
  const auto picky = [](sample& s, context&) {
    if (s.id().back() == '7')
      throw std::runtime_error("no sevens");
  };
  const auto data = count(100, 8).shuffle().map("picky@1", picky).batch(20);
  auto options = quick(2);
  {
    loader x{data, options};
    std::set<std::string> texts;
    for (int i = 0; i < 3; ++i) {
      const auto problem = check_refusal([&] { (void)x.next(); }, errc::bad_sample, {"no sevens"});
      CHECK(problem.details().stage == "picky@1");
      texts.insert(problem.what());
    }
    CHECK(texts.size() == 1);
  }
  for (auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute}) {
    options.bad_samples = policy;
    auto alone = options;
    alone.workers = 0;
    const auto reference = run_job(data, alone, 1);
    CHECK(run_job(data, options, 1) == reference);
    CHECK(run_job(data, options, 3) == reference);
    loader x{data, options};
    std::size_t bad = 0;
    std::size_t valid = 0;
    while (auto batch = x.next()) {
      bad += batch->bad().size();
      valid += batch->valid_rows();
      for (const auto& row : batch->bad()) {
        CHECK(row.id.back() == '7');
        CHECK(row.why == cause::function_error);
        CHECK(row.substitute.has_value() == (policy == bad_sample_policy::substitute));
      }
      for (const auto& id : batch->ids())
        CHECK(id.back() != '7');
    }
    CHECK(bad == 10);
    CHECK(valid == (policy == bad_sample_policy::mask ? 90 : 100));
    CHECK(x.stats().bad[static_cast<std::size_t>(cause::function_error)] == 10);
  }
}

TEST_CASE("loader: an error costs no sample, before it or in the batch that failed") {
  std::atomic<int> broken = -1;
  const auto is_taken = [&](const sample& s) {
    const auto n = std::to_integer<int>(s.bytes("value")[0]);
    if (n == broken)
      throw std::runtime_error("the disk is away");
    return n % 7 != 2;
  };
  const auto fragile = [&](sample& s, context& c) {
    s.set("noise", is_taken(s) ? c.rng().uniform() : 0);
  };
  const auto looked = probing("looked@1", is_taken);
  const auto records = count(100, 8).shuffle({.seed = 2});
  for (const auto& data :
       {records.map("fragile@1", fragile).batch(8, {.end = epoch_end::mask}),
        records.filter(looked).shuffle_buffer(20).batch(8, {.lanes = 4, .end = epoch_end::mask})})
    for (const std::size_t workers : {0, 3}) {
      const auto options = quick(workers, 2);
      const auto expected = run_job(data, options, 1);
      std::size_t failures = 0;
      for (int n = 0; n < 100; n += 9) {
        CAPTURE(to_string(data), workers, n);
        loader x{data, options}; // learns its layout from whole samples
        broken = n;
        std::vector<job_step> got;
        auto state = x.snapshot();
        const auto code = code_of([&] {
          while (const auto batch = x.next()) {
            append(got, *batch);
            state = batch->snapshot();
          }
        });
        failures += code == errc::bad_sample;
        if (code) {
          REQUIRE(code_of([&] { x.next(); }) == code);
          REQUIRE(x.snapshot() == state);
        }
        broken = -1;
        loader next{data, options};
        next.restore_parts({state});
        const auto rest = next_steps(next);
        got.insert(got.end(), rest.begin(), rest.end());
        REQUIRE(got == expected);
      }
      REQUIRE(failures >= 8);
    }
}

TEST_CASE("loader: may be destroyed at any moment, also with leases out") {
  for (int consumed = 0; consumed < 6; ++consumed) {
    auto options = quick(3);
    options.leases = 6;
    std::vector<lease> held;
    {
      loader x{noisy(200, 10), options};
      for (int i = 0; i < consumed; ++i)
        held.push_back(x.next());
    }
    for (int i = 0; i < consumed; ++i)
      CHECK(held[static_cast<std::size_t>(i)]->view<std::uint8_t, 2>("value").extent(0) == 10);
    if (!held.empty())
      CHECK_FALSE(held[0]->snapshot().empty());
  }
}

TEST_CASE("loader: a function that does not return is named") {
  std::promise<void> release;
  const auto released = release.get_future().share();
  const auto sleepy = [&](sample& s, context&) {
    if (s.id() == "count/5")
      released.wait();
  };
  const auto data = count(100, 8).map("sleepy@1", sleepy).batch(10);
  // The layout is learned from record 0, which does not block.
  auto options = quick(2);
  options.stuck_after = 100ms;
  loader x{data, options};
  const auto problem = check_refusal([&] { (void)x.next(); }, errc::stuck);
  CHECK(problem.details().stage == "sleepy@1");
  CHECK(problem.details().sample == "count/5");
  release.set_value();
}

TEST_CASE("loader: cancelled() lets a long function end when its loader is destroyed") {
  std::atomic<bool> entered{false};
  const auto slow = [&](sample& s, context& c) {
    if (s.id() == "count/0")
      return;
    entered = true;
    while (!c.cancelled())
      std::this_thread::yield();
  };
  {
    auto options = quick(1);
    options.stuck_after = 50ms;
    loader x{count(100, 8).map("long@1", slow).batch(2), options};
    CHECK_THROWS_AS(x.next(), error);
  }
  CHECK(entered);
}

TEST_CASE("loader: several loaders share a process, each with its own order") {
  const auto train = noisy(500, 50);
  const auto check = noisy(120, 40, {.end = epoch_end::mask}, {.kind = shuffle_kind::none});
  const auto train_reference = run_job(train, quick(0, 2), 1);
  const auto check_reference = run_job(check, quick(0), 1);
  loader x{train, quick(2, 2)};
  std::vector<job_step> steps;
  while (auto batch = x.next()) {
    append(steps, *batch);
    if (batch->end_of_epoch())
      REQUIRE(run_job(check, quick(2), 1) == check_reference);
  }
  REQUIRE(steps == train_reference);
}

TEST_CASE("loader: options out of range are refused") {
  const auto data = noisy(100, 10);
  CHECK_THROWS_AS(loader(data, {.rank = 2, .world_size = 2}), error);
  CHECK_THROWS_AS(loader(data, {.world_size = 0}), error);
  CHECK_THROWS_AS(loader(data, {.leases = 0}), error);
  const auto refused = [&](const loader_options& options, const std::string& most) {
    const auto problem = check_refusal([&] { loader{data, options}; }, errc::invalid_argument);
    CHECK(problem.details().needed.ends_with("to " + most));
  };
  refused({.world_size = 1'000'001}, "1000000");
  refused({.prefetch = 4097}, "4096");
  refused({.leases = 65537}, "65536");
  CHECK_THROWS_AS(loader(noisy(9, 10), {}), error);
  CHECK_THROWS_AS(loader(count(100, 8), {}), error);
  loader x{data, quick(0)};
  CHECK_THROWS_AS(x.resize_workers(2), error);
}

} // namespace
} // namespace leat::loader_test
