#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/whole_job.hpp"

// Jobs of a few lanes, with fewer workers than lanes and with more, against the same job without
// workers, whose lanes run one after the other in the trainer's thread.
namespace leat::lane_jobs_test {
namespace {

constexpr std::array<std::size_t, 5> all_workers{0, 1, 2, 3, 8};

/// One number, of all that a sample has and of a draw.
pipeline summed(const pipeline& x) {
  return x
      .map("sum@1",
           [](sample& s, context& c) {
             auto sum = c.rng()();
             for (const auto v : s.view<std::int64_t, 1>("t").flat())
               sum = sum * 31 + static_cast<std::uint64_t>(v);
             s.set("sum", sum);
           })
      .map(select({"sum"}));
}

/// JSON lines of lists, 1 to 9 numbers each.
class lane_jobs {
public:
  lane_jobs() {
    for (std::uint64_t file = 0; file < 4; ++file) {
      std::ofstream out{directory_ / (std::to_string(file) + ".jsonl")};
      for (std::uint64_t i = 0; i < 80 + 11 * file; ++i) {
        out << R"({"t": [)" << i;
        for (std::uint64_t k = 0; k < i * 7 % 9; ++k)
          out << ", " << k;
        out << "]}\n";
      }
    }
  }

  pipeline packs() const {
    return summed(lists("*").shuffle_buffer(40, 3).pack("t", 12, {.bins = 3})).batch(8, few);
  }
  pipeline filters() const {
    const auto same = [](sample&, context&) {}; // content of what a map made stays with its item
    return summed(half(half(lists("*")).shuffle_buffer(16, 3).map("same@1", same), 70))
        .batch(8, few);
  }
  /// Without an end, and with weights that may change.
  pipeline mixes() const {
    return summed(mix({half(lists("0")), lists("[12]").shuffle_buffer(20, 5)},
                      {.stop = mix_stop::cycle}))
        .batch(8, {.lanes = 4, .end = epoch_end::cycle});
  }

private:
  static inline const batch_options few{.lanes = 4, .end = epoch_end::mask};

  pipeline lists(const std::string& files) const {
    return json_lines(directory_ / (files + ".jsonl"), {.ranges = 4, .types = {{"t", "i64"}}});
  }
  static pipeline half(const pipeline& x, std::uint64_t keep = 50) {
    return x.filter(field_hash("t", keep));
  }

  test::temporary_directory directory_;
};

loader_options options_of(std::size_t workers) {
  return {.workers = workers,
          .epochs = 2,
          .steps = 40,
          .dispatch = all_policies[workers % 3],
          .hash_pixels = true};
}

TEST_CASE("lanes: with any number of workers a job gives the batches that it gives without") {
  const lane_jobs jobs;
  for (const auto& data : {jobs.packs(), jobs.filters(), jobs.mixes()}) {
    CAPTURE(to_string(data));
    loader whole{data, options_of(0)};
    const auto expected = next_steps(whole);
    REQUIRE(expected.size() > 15);
    for (const auto workers : all_workers) {
      CAPTURE(workers);
      loader x{data, options_of(workers)};
      const auto [steps, states] = whole_job{x};
      REQUIRE(steps == expected);
      for (std::size_t at = 0; at < states.size(); at += test::thread_sanitized ? 9 : 1) {
        const auto others = all_workers[(at + workers) % all_workers.size()];
        CAPTURE(at, others);
        loader resumed{data, options_of(others)};
        resumed.restore_parts({states[at]});
        REQUIRE(next_steps(resumed) == tail_of(expected, at));
      }
    }
  }
}

TEST_CASE("lanes: weights change, steps are left out and the job is rewound while lanes run") {
  const lane_jobs jobs;
  const auto run = [&](std::size_t workers, std::size_t told) {
    loader x{jobs.mixes(), options_of(workers)};
    x.leave_out_steps(4, 6);
    auto steps = next_steps(x, told);
    x.set_weights({1, 5}, 20);
    const auto add = [&](std::size_t most) {
      for (auto& step : next_steps(x, most))
        steps.push_back(std::move(step));
    };
    add(7);
    x.rewind();
    add(told);
    x.rewind();
    add(SIZE_MAX);
    return steps;
  };
  for (std::size_t told = 0; told < 14; told += test::thread_sanitized ? 5 : 1) {
    const auto expected = run(0, told);
    for (const auto workers : all_workers) {
      CAPTURE(told, workers);
      REQUIRE(run(workers, told) == expected);
    }
  }
}

} // namespace
} // namespace leat::lane_jobs_test
