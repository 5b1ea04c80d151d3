#include "tests/support/lengths.hpp"
#include "tests/support/restored_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::length_bucket_test {
namespace {

using test::lengths;
using test::samples_of;

struct given {
  std::size_t number;
  std::size_t length;

  friend bool operator==(const given&, const given&) = default;
};

std::vector<given> given_by(const lengths& all, const std::vector<std::uint64_t>& boundaries,
                            const length_bucket_options& options) {
  loader from{samples_of(all)
                  .length_bucket("text", boundaries, options)
                  .batch(1, {.lanes = 1, .end = epoch_end::mask}),
              {.workers = 0, .epochs = 1}};
  std::vector<given> result;
  while (const auto batch = from.next())
    for (const auto& id : batch->ids())
      result.push_back({test::number_in(id), all[test::number_in(id)]});
  return result;
}

lengths numbers_of(const std::vector<given>& all) {
  lengths result;
  for (const auto& x : all)
    result.push_back(x.number);
  return result;
}

TEST_CASE("length_bucket: whole groups come as soon as they are there, the rest by length") {
  //                    0  1  2  3  4  5  6  7  8
  const lengths all{9, 1, 4, 2, 3, 9, 5, 8, 1};
  // Up to 2: 1, 3, 8. Up to 5: 2, 4, 6. Above: 0, 5, 7.
  CHECK(numbers_of(given_by(all, {2, 5}, {.group = 2, .window = 100}))
        == lengths{1, 3, 2, 4, 0, 5, 8, 6, 7});
  CHECK(numbers_of(given_by(all, {2, 5}, {.group = 100, .window = 100}))
        == lengths{1, 3, 8, 2, 4, 6, 0, 5, 7});
}

TEST_CASE("length_bucket: a boundary belongs to the bucket below it, and 0 to the first") {
  CHECK(numbers_of(given_by({3, 2, 0, 1, 2, 3}, {0, 2}, {.group = 9, .window = 9}))
        == lengths{2, 1, 3, 4, 0, 5});
}

TEST_CASE("length_bucket: a full window gives the oldest, with those nearest to it in length") {
  // Buckets 0 to 4. The fifth sample fills the window: the oldest is in bucket 2, alone; then come
  // those of buckets 1 and 3.
  CHECK(numbers_of(given_by({5, 9, 7, 3, 1, 1}, {2, 4, 6, 8}, {.group = 3, .window = 5}))
        == lengths{0, 3, 2, 4, 5, 1});
  // If a bucket has more than are missing, its oldest are taken.
  CHECK(numbers_of(given_by({5, 3, 3, 9}, {2, 4, 6, 8}, {.group = 3, .window = 4}))
        == lengths{0, 1, 2, 3});
  // There is nothing below the first bucket and above the last one.
  CHECK(numbers_of(given_by({1, 9, 5}, {2, 8}, {.group = 3, .window = 3})) == lengths{0, 2, 1});
  CHECK(numbers_of(given_by({9, 1, 5}, {2, 8}, {.group = 3, .window = 3})) == lengths{0, 2, 1});
}

TEST_CASE(
    "length_bucket: all samples come once, in groups that stay aligned, and none waits forever") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 60; ++round) {
    lengths all(random() % 200);
    for (auto& x : all)
      x = random() % 10 == 0 ? 1000 : random() % 30;
    if (all.empty())
      continue;
    const std::uint64_t group = 1 + random() % 8;
    const std::uint64_t window = group + random() % 40;
    const std::vector<std::uint64_t> boundaries{5, 9, 20};
    CAPTURE(group, window, all.size());
    const auto got = given_by(all, boundaries, {.group = group, .window = window});
    auto sorted = numbers_of(got);
    std::sort(sorted.begin(), sorted.end());
    lengths each_once(all.size());
    std::iota(each_once.begin(), each_once.end(), std::size_t{0});
    REQUIRE(sorted == each_once);
    const auto bucket_of = [&](std::size_t length) {
      return std::lower_bound(boundaries.begin(), boundaries.end(), length) - boundaries.begin();
    };
    // A sample can only be given once it has come: before its group, or within the window.
    for (std::size_t i = 0; i < got.size(); ++i)
      REQUIRE(got[i].number < i / group * group + window);
    for (std::size_t i = 0; i + window < got.size(); i += group) {
      const bool pure =
          std::all_of(got.begin() + static_cast<std::ptrdiff_t>(i),
                      got.begin() + static_cast<std::ptrdiff_t>(i + group), [&](const given& x) {
                        return bucket_of(x.length) == bucket_of(got[i].length);
                      });
      // Otherwise the window was full, and the group's first is the oldest of all from here on.
      if (!pure)
        REQUIRE(std::all_of(got.begin() + static_cast<std::ptrdiff_t>(i), got.end(),
                            [&](const given& x) { return got[i].number <= x.number; }));
    }
  }
}

TEST_CASE("length_bucket: restored at every batch, for several lanes and bad samples") {
  for (const auto end : {epoch_end::mask, epoch_end::drop})
    for (const auto& input : test::whole_and_broken_samples()) {
      const auto made = input.length_bucket("text", {5, 10, 15}, {.group = 6, .window = 16})
                            .batch(6, {.lanes = 2, .end = end, .fields = {"n"}});
      CAPTURE(to_string(made));
      CHECK(test::check_restores(made, 2).size() >= 28);
    }
}

TEST_CASE("length_bucket: the length is that of the outermost dimension, and rank 0 is bad") {
  const auto tensors = from_function("tensors@1", 6, [](std::uint64_t i, sample& s) {
    const std::size_t length = i % 2 == 0 ? 5 : 1;
    s.set_ragged("boxes", std::vector<float>(4 * length), {4});
    s.set("rows", std::vector<float>(2 * length), {length, 2});
    s.set("n", i);
  });
  for (const std::string field : {"boxes", "rows"}) {
    loader from{tensors.length_bucket(field, {4}, {.group = 3, .window = 9})
                    .batch(3, {.lanes = 1, .end = epoch_end::mask, .fields = {"n"}}),
                {.workers = 0, .epochs = 1}};
    const auto batch = from.next();
    const auto n = batch->view<std::uint64_t, 1>("n").flat();
    CHECK(std::vector(n.begin(), n.end()) == std::vector<std::uint64_t>{0, 2, 4});
  }
  const auto of_rank_0 =
      tensors.length_bucket("n", {4}, {.group = 3, .window = 9}).batch(3, {.lanes = 1});
  CHECK(code_of([&] { loader{of_rank_0, {.workers = 0}}; }) == errc::bad_sample);
}

TEST_CASE("length_bucket: what does not fit together is refused") {
  const auto x = samples_of({1, 2, 3});
  const auto refused = [&](const std::string& field, const std::vector<std::uint64_t>& boundaries,
                           const length_bucket_options& options) {
    return code_of([&] { x.length_bucket(field, boundaries, options); }) == errc::invalid_argument;
  };
  CHECK_FALSE(refused("text", {1, 2}, {.group = 2, .window = 2}));
  CHECK(refused("", {1, 2}, {.group = 2, .window = 2}));
  CHECK(refused("text", {}, {.group = 2, .window = 2}));
  CHECK(refused("text", {2, 2}, {.group = 2, .window = 2}));
  CHECK(refused("text", {1}, {.group = 0, .window = 2}));
  CHECK(refused("text", {1}, {.group = 3, .window = 2}));
  CHECK(refused("text", {1}, {.group = 2, .window = (std::uint64_t{1} << 32) + 1}));
  const auto of_lanes = [&](std::uint64_t group) {
    return code_of([&] {
      loader{x.length_bucket("text", {1}, {.group = group, .window = 9}).batch(2), {.workers = 0}};
    });
  };
  CHECK(of_lanes(3) == errc::invalid_argument);
  CHECK_FALSE(of_lanes(4));
}

} // namespace
} // namespace leat::length_bucket_test
