#include "tests/support/refusal.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/whole_job.hpp"

#include <leat/testing.hpp>

// Maps that take several samples at once.
namespace leat::test::together_test {
namespace {

/// What it makes of a sample depends on its content, its place and its random numbers.
void work_on(sample& x, context& in) {
  const auto text = x.bytes(x.has("text") ? "text" : "value");
  std::uint64_t sum = 0;
  for (const auto byte : text)
    sum = 31 * sum + static_cast<std::uint64_t>(byte);
  const auto position = in.has_row() ? in.position() : 1U << 20;
  x.set("sum", sum ^ in.rng().bits64() ^ position << 32 ^ in.epoch() << 48);
}

/// Counts the samples of each call in `sizes`, by their number.
map_stage together(std::atomic<std::size_t>& largest, std::uint64_t bad_sum = 0) {
  return {.name = "work@1", .make_together = [&largest, bad_sum] {
            return [&largest, bad_sum](std::span<sample* const> all, std::span<context> in) {
              if (all.size() != in.size())
                throw error(errc::interrupted, {.got = "samples without contexts"});
              for (std::size_t i = 0; i < all.size(); ++i) {
                work_on(*all[i], in[i]);
                if (bad_sum != 0 && all[i]->get<std::uint64_t>("sum") % bad_sum == 0)
                  throw std::runtime_error("divisible");
              }
              auto before = largest.load();
              while (before < all.size() && !largest.compare_exchange_weak(before, all.size())) {
              }
            };
          }};
}

map_stage alone(std::uint64_t bad_sum = 0) {
  return {.name = "work@1", .make = [bad_sum] {
            return [bad_sum](sample& x, context& in) {
              work_on(x, in);
              if (bad_sum != 0 && x.get<std::uint64_t>("sum") % bad_sum == 0)
                throw std::runtime_error("divisible");
            };
          }};
}

map_stage after() {
  return {.name = "after@1", .make = [] {
            return [](sample& x, context& in) {
              x.set("twice", 2 * x.get<std::uint64_t>("sum") + in.rng().below(10));
            };
          }};
}

/// What a trainer sees of a job: digests, contents, bad rows.
std::vector<std::string> seen(const pipeline& data, loader_options options,
                              const std::string& from = {}) {
  options.hash_pixels = true;
  options.epochs = 2;
  loader job{data, std::move(options)};
  if (!from.empty())
    job.restore_parts({from});
  std::vector<std::string> result;
  while (const auto x = job.next()) {
    auto line = to_string(x->digest());
    for (const auto& hash : x->content_hashes())
      line += " " + to_string(hash);
    for (const auto& row : x->bad())
      line += " " + std::to_string(row.position) + row.id + std::string{to_string(row.why)}
              + row.text + row.substitute.value_or("-");
    result.push_back(line);
  }
  return result;
}

void write_lines(const std::string& file, int n) {
  std::ofstream to{file};
  for (int i = 0; i < n; ++i)
    to << "line " << i << std::string(static_cast<std::size_t>(i % 50), 'x') << '\n';
}

TEST_CASE(
    "a map of several samples at once makes the same batches as one that is called for each") {
  const temporary_directory at;
  write_lines(at / "a.txt", 500);
  write_lines(at / "b.txt", 300);
  const std::vector<pipeline> kinds{
      count(1000).shuffle({.seed = 5}),
      lines(at / "{a,b}.txt").shuffle_buffer(64, 3),
      lines(at / "{a,b}.txt", {.ranges = 3}).filter(field_hash("text", 70)),
      mix({lines(at / "a.txt", {.ranges = 2}), lines(at / "b.txt", {.ranges = 2})}),
  };
  for (const auto& data : kinds)
    for (const std::size_t workers : {0, 1, 3}) {
      CAPTURE(to_string(data), workers);
      const batch_options how{.lanes = 2, .end = epoch_end::mask};
      std::atomic<std::size_t> largest = 0;
      const auto expected = seen(data.map(alone()).map(after()).batch(100, how), {.workers = 0});
      REQUIRE(seen(data.map(together(largest)).map(after()).batch(100, how), {.workers = workers})
              == expected);
      REQUIRE(largest > 1);
      REQUIRE(largest <= 64);
    }
}

TEST_CASE("it works before other operators, and after a zip whose inputs lend it their fields") {
  const auto both = [](const map_stage& x) {
    return std::vector<pipeline>{
        count(600).map(x).filter(field_hash("sum", 50)).batch(20, {.end = epoch_end::mask}),
        zip({count(600).map(rename("value", "other")), count(600)}).map(x).batch(20),
        count(600).map(x).take(90).batch(20),
    };
  };
  std::atomic<std::size_t> largest = 0;
  const auto one_by_one = both(alone());
  const auto several = both(together(largest));
  for (std::size_t i = 0; i < several.size(); ++i) {
    CAPTURE(i);
    REQUIRE(seen(several[i], {.workers = 2}) == seen(one_by_one[i], {.workers = 2}));
  }
  REQUIRE(largest <= 64);
}

TEST_CASE("a bad sample among several is found, and the others are as good as alone") {
  const auto data = count(700).shuffle({.seed = 9});
  for (const auto policy : {bad_sample_policy::mask, bad_sample_policy::substitute})
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(workers);
      std::atomic<std::size_t> largest = 0;
      const auto expected =
          seen(data.map(alone(13)).batch(70), {.workers = 1, .bad_samples = policy});
      REQUIRE(std::any_of(expected.begin(), expected.end(), [](const auto& line) {
        return line.find("divisible") != std::string::npos;
      }));
      REQUIRE(seen(data.map(together(largest, 13)).batch(70),
                   {.workers = workers, .bad_samples = policy})
              == expected);
    }
  std::atomic<std::size_t> largest = 0;
  loader job{data.map(together(largest, 13)).batch(700), {.workers = 2}};
  check_refusal([&] { job.next(); }, errc::bad_sample, {"divisible"});
}

TEST_CASE("workers that die over samples that are made together lose none and repeat none") {
  std::atomic<std::size_t> largest = 0;
  const auto data = count(1000).shuffle({.seed = 2});
  const auto expected = seen(data.map(alone()).batch(100), {.workers = 0});
  // One at a time: two workers may die over the same row, which is an error.
  for (const std::uint64_t position : {0, 130, 131, 350, 777}) {
    loader_options options{.workers = 2};
    options.fault = drill({.deaths = {{position % 2, position}}});
    REQUIRE(seen(data.map(together(largest)).batch(100), options) == expected);
  }
}

TEST_CASE("a job with such a map resumes at every batch") {
  std::atomic<std::size_t> largest = 0;
  const auto data = count(300).shuffle({.seed = 7}).map(together(largest)).batch(50);
  const auto all = seen(data, {.workers = 2});
  loader job{data, {.workers = 1, .epochs = 2}};
  for (std::size_t i = 1; i <= all.size(); ++i) {
    const auto state = job.next()->snapshot();
    REQUIRE(seen(data, {.workers = 3}, state) == tail_of(all, i));
  }
}

TEST_CASE("a lack of resources and an interruption in such a map end the job") {
  for (const auto code : {errc::no_resources, errc::interrupted}) {
    const map_stage fails{.name = "fails@1", .make_together = [code] {
                            return [code](std::span<sample* const>, std::span<context> in) {
                              if (in.front().position() >= 50)
                                throw error(code, {.got = "on purpose"});
                            };
                          }};
    loader job{count(200).map(fails).batch(50),
               {.workers = 2, .bad_samples = bad_sample_policy::mask}};
    REQUIRE(job.next()->valid_rows() == 50);
    REQUIRE(code_of([&] { job.next(); }) == code);
  }
}

TEST_CASE("a map has a function of one sample or of several, and not both") {
  auto both = alone();
  both.make_together = [] { return [](std::span<sample* const>, std::span<context>) {}; };
  REQUIRE(code_of([&] { (void)count(1).map(both); }) == errc::invalid_argument);
  REQUIRE(code_of([&] { (void)count(1).map(map_stage{.name = "none@1"}); })
          == errc::invalid_argument);
}

} // namespace
} // namespace leat::test::together_test
