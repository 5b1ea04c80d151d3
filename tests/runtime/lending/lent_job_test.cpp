#include "runtime/job/rank_job.hpp"
#include "runtime/lending/files_below.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/row_codec.hpp"
#include "tests/support/files.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::lent_job_test {
namespace {

using test::temporary_directory;

/// Depends on the record, its id, its place and random numbers; some samples are bad.
map_stage lent_map() {
  return {.name = "lent@1", .make = [] {
            return [](sample& x, context& c) {
              const auto number = c.rng()();
              if (number % 9 == 0)
                throw bad_sample(cause::corrupt, "drawn as a bad one");
              const auto bytes = x.bytes("value");
              x.set("text", x.id() + std::string(number % 5, 'x')
                                + std::to_string(std::to_integer<int>(bytes[0])));
              x.set("place", static_cast<std::int64_t>(c.position() + 1000 * c.epoch()));
            };
          }};
}

filter_stage lent_filter() {
  return {.name = "lent_some@1", .make = [] {
            return
                [](sample& x) { return std::to_integer<unsigned>(x.bytes("value")[0]) % 3 != 0; };
          }};
}

void register_functions() {
  register_map("lent@1", [](const std::string&) { return lent_map(); });
  register_predicate("lent_some@1", [](const std::string&) { return lent_filter(); });
}

pipeline records_in(const std::string& file, std::size_t records, int first = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < records; ++i)
    bytes += {static_cast<char>(first + static_cast<int>(i)), 'a', 'b', 'c'};
  test::write_content(file, bytes);
  return raw_records(file, dtype::u8, {4});
}

/// A helper with one thread, and the rank that lends to it.
class lent_rows {
public:
  lent_rows(const pipeline& data, bad_sample_policy policy, const std::vector<std::string>& folders)
      : plan_(plan_of(data, nullptr)) {
    plan_->bad_samples = policy;
    auto lent =
        decode_lent_job(encode(lent_job_of(data, describe(data, plan_->shape.lanes), *plan_)));
    REQUIRE(lent);
    job_.emplace(std::move(*lent), folders);
    if (!job_->has_data())
      reader_.emplace(data, *plan_);
    far_plan_ = job_->plan_for(records_);
    far_.emplace(far_plan_, std::make_shared<worker_record>());
    near_.emplace(plan_, std::make_shared<worker_record>());
    memory_.emplace(far_plan_->layout, 1);
  }

  bool has_data() const { return job_->has_data(); }
  const std::shared_ptr<job_plan>& plan() const { return plan_; }
  std::size_t made_here() const { return made_here_; }
  std::size_t made_there() const { return made_there_; }

  /// Makes the row there, or here if it is declined.
  void make(const row_request& row, const row_target* target, row_result& result) {
    const auto bytes = made(row);
    if (bytes) {
      REQUIRE(decode_result(*bytes, target, result));
      ++made_there_;
      return;
    }
    ++made_here_;
    near_->run(row, target ? *target : row_target{}, result);
  }

private:
  std::optional<std::string> made(const row_request& row) {
    REQUIRE(can_travel(row));
    if (reader_) {
      const auto records = reader_->records_of(row);
      if (!records || !records_->read(*records))
        return std::nullopt;
    }
    const auto request = decode_request(encode(row), *far_plan_);
    REQUIRE(request);
    row_result result;
    row_places places;
    memory_->begin_rows();
    far_->run(*request, request->edge ? row_target{} : places.at(*memory_, 0), result);
    if (result.what == row_result::outcome::failed || records_->lacked())
      return std::nullopt;
    if (request->edge)
      return encode(result);
    return encode(result, *far_plan_->layout,
                  [&](std::size_t field) { return memory_->row_of(field, 0); });
  }

  std::shared_ptr<job_plan> plan_;
  std::optional<borrowed_job> job_;
  std::optional<record_reader> reader_;
  std::shared_ptr<records_at_hand> records_ = std::make_shared<records_at_hand>();
  std::shared_ptr<const job_plan> far_plan_;
  std::optional<row_runner> far_;
  std::optional<row_runner> near_;
  std::optional<batch_memory> memory_;
  std::size_t made_here_ = 0;
  std::size_t made_there_ = 0;
};

std::vector<finished_batch> batches_of(lent_rows& by, std::size_t most) {
  const auto order = order_of_rank(*by.plan(), 2);
  batch_slot slot{by.plan()->layout, rows_of_rank(*by.plan())};
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
        by.make(probes.request(row), nullptr, probes.result(row));
        probes.finish(row);
      }
      order->close_probe(probes);
      probes.release();
      continue;
    }
    slot.open(next, false);
    for (std::size_t row = 0; row < slot.num_rows(); ++row) {
      const auto target = places.at(slot.memory(), row);
      by.make(slot.request(row), &target, slot.result(row));
      slot.finish(row);
    }
    slot.close();
    made.push_back(finished(slot));
    slot.release();
  }
  return made;
}

std::vector<pipeline> some_pipelines(const temporary_directory& in) {
  const auto a = records_in(in / "a.raw", 40);
  const auto b = records_in(in / "b.raw", 25, 100);
  return {
      a.map(lent_map()).batch(6),
      a.shuffle({.seed = 3}).map(lent_map()).batch(6, {.end = epoch_end::mask}),
      concat({a, b}).shuffle({.seed = 4}).map(lent_map()).batch(4),
      a.filter(lent_filter()).map(lent_map()).batch(4, {.lanes = 2, .end = epoch_end::mask}),
      mix({a, b}, {.rule = mix_rule::random, .seed = 5})
          .shuffle_buffer(8, 6)
          .map(lent_map())
          .batch(4, {.lanes = 2, .end = epoch_end::drop}),
      b.repeat(2)
          .filter(lent_filter())
          .shuffle_buffer(6, 1)
          .map(lent_map())
          .batch(3, {.lanes = 1, .end = epoch_end::mask}),
  };
}

TEST_CASE("lent_job: rows whose records are sent are those of the rank") {
  register_functions();
  const temporary_directory in;
  std::size_t number = 0;
  for (const auto& data : some_pipelines(in)) {
    CAPTURE(number++);
    lent_rows by{data, bad_sample_policy::mask, {}};
    REQUIRE_FALSE(by.has_data());
    REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
    REQUIRE(by.made_here() == 0);
    REQUIRE(by.made_there() > 10);
  }
}

TEST_CASE("lent_job: rows of data that the helper has are those of the rank") {
  register_functions();
  const temporary_directory in;
  for (const auto& data : some_pipelines(in)) {
    lent_rows by{data, bad_sample_policy::mask, {in.path()}};
    REQUIRE(by.has_data());
    REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
    REQUIRE(by.made_here() == 0);
  }
}

TEST_CASE("lent_job: a row that needs a record nobody sent is made by the rank") {
  register_functions();
  const temporary_directory in;
  const auto data = records_in(in / "a.raw", 60).map(lent_map()).batch(6);
  lent_rows by{data, bad_sample_policy::substitute, {}};
  REQUIRE(batches_of(by, 30) == expected_batches(by.plan(), 2, 30));
  REQUIRE(by.made_here() > 0); // substitutes
  REQUIRE(by.made_there() > by.made_here());
}

lent_job lent(const pipeline& data) {
  const auto plan = plan_of(data, nullptr);
  return lent_job_of(data, describe(data, plan->shape.lanes), *plan);
}

TEST_CASE("lent_job: other data under the same name is not read, and its records are sent") {
  register_functions();
  const temporary_directory in;
  const auto data = records_in(in / "a.raw", 40).map(lent_map()).batch(6);
  auto job = lent(data);
  REQUIRE(borrowed_job(job, {in.path()}).has_data());
  test::write_content(in / "a.raw", std::string(4 * 39, 'x'));
  REQUIRE_FALSE(borrowed_job(job, {in.path()}).has_data());
  job.sources.clear(); // as of streams
  const auto problem = thrown_by([&] { borrowed_job(job, {in.path()}); });
  REQUIRE(problem.code() == errc::mismatch);
}

TEST_CASE("lent_job: functions that the helper does not know are refused by their names") {
  const temporary_directory in;
  const auto data =
      records_in(in / "a.raw", 8).map("nobody_knows@7", [](sample&, context&) {}).batch(2);
  const auto problem = thrown_by([&] { borrowed_job(lent(data), {}); });
  REQUIRE(problem.code() == errc::invalid_argument);
  REQUIRE(has(problem.what(), "nobody_knows@7"));
}

TEST_CASE("lent_job: streams are read where they are, or not at all") {
  register_functions();
  const temporary_directory in;
  test::write_content(in / "a.txt", "one\ntwo\nthree\nfour\n");
  const auto data = lines({in / "a.txt"}).batch(2, {.lanes = 1, .end = epoch_end::mask});
  REQUIRE(lent(data).sources.empty());
  REQUIRE(borrowed_job(lent(data), {in.path()}).has_data());
  const auto problem = thrown_by([&] { borrowed_job(lent(data), {}); });
  REQUIRE(has(problem.what(), "--data"));
}

TEST_CASE("lent_job: sources that exist once, and files that records name, are not lent") {
  REQUIRE(reason_against_lending(count(4).batch(2)).empty());
  REQUIRE(has(reason_against_lending(standard_input().batch(2)), "exist once"));
}

TEST_CASE("lent_job: torn bytes are refused, whatever is missing or changed") {
  register_functions();
  const temporary_directory in;
  const auto bytes = encode(lent(records_in(in / "a.raw", 8).map(lent_map()).batch(2)));
  REQUIRE(decode_lent_job(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(decode_lent_job(std::string_view{bytes}.substr(0, size)));
  REQUIRE_FALSE(decode_lent_job(bytes + "x"));
}

TEST_CASE("files_below: only absolute names within a folder are below it") {
  const temporary_directory in;
  const temporary_directory other;
  std::filesystem::create_directories(in / "deep/er");
  std::filesystem::create_directory_symlink(other.path(), in / "out");
  const auto is_below = [&](const std::string& file) {
    return reads_only_below(raw_records(file, dtype::u8, {1}), {in.path()});
  };
  REQUIRE(is_below(in / "a.raw"));
  REQUIRE(is_below(in / "deep/er/a.raw"));
  REQUIRE_FALSE(is_below(other / "a.raw"));
  REQUIRE_FALSE(is_below(in.path() + "x/a.raw"));
  REQUIRE_FALSE(is_below("a.raw"));
  REQUIRE_FALSE(is_below(in / "deep/../../a.raw"));
  REQUIRE_FALSE(is_below(in / "out/a.raw"));
  REQUIRE(reads_only_below(tar_shards({in / "deep/*.tar"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(tar_shards({"{" + (in / "a") + ",/etc/x}.tar"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(tar_shards({in / "*/../../x.tar"}), {in.path()}));
  REQUIRE_FALSE(reads_only_below(raw_records(in / "a.raw", dtype::u8, {1}), {}));
  REQUIRE(reads_only_below(count(9), {}));
}

} // namespace
} // namespace leat::lent_job_test
