#include "tests/support/drain.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"

#include <leat/leat.hpp>

// Samples that an operator which probes content cannot judge: docs/iterators.md, "Bad samples". The
// sample itself can still be made, so that only what the operator found says that its row is bad.
namespace leat::unjudged_test {
namespace {

constexpr std::uint64_t samples = 12;

/// An operator, and the numbers of samples that it cannot judge.
struct subject {
  std::string name;
  std::function<pipeline(const pipeline&)> operate;
  std::set<std::uint64_t> bad;
  cause why;
  /// The field that is probed, in good samples.
  std::function<void(sample&, std::uint64_t)> set_x;
  /// What comes before the ids of the output: the id of a bad sample is "numbers/5" or similar.
  std::string before = "";
  std::string behind = "";
};

const std::set<std::uint64_t> one_in_three{1, 4, 7, 10};

/// Each throws for one sample in three.
std::vector<subject> subjects() {
  const auto set_number = [](sample& s, std::uint64_t i) {
    s.set("x", static_cast<std::int64_t>(i % 3));
  };
  const auto set_tokens = [](sample& s, std::uint64_t i) {
    const std::vector<std::int32_t> tokens(1 + i % 3, 7);
    s.set("x", std::span<const std::int32_t>{tokens}, {tokens.size()});
  };
  const auto throws_for = [](const sample& s) {
    if (one_in_three.count(number_of(s)) != 0)
      throw std::runtime_error("not this one");
  };
  const auto thrower = probing("throws@1", [=](sample& s) {
    throws_for(s);
    return true;
  });
  const scan_stage looker{.name = "throws@1",
                          .make =
                              [=] {
                                return scan_function{[=](sample& s) {
                                                       throws_for(s);
                                                       return std::string{"1"};
                                                     },
                                                     [](sample&, std::string_view) {}};
                              },
                          .step = [](std::string&, std::string_view) { return std::string{}; }};
  const flat_map_stage counter{.name = "throws@1", .make = [=] {
                                 return flat_map_function{[=](sample& s) -> std::uint64_t {
                                                            throws_for(s);
                                                            return 1;
                                                          },
                                                          [](sample&, std::uint64_t) {}};
                               }};
  const auto keep_x = [](const pipeline& x) { return x.filter(field_between("x", -1.0, 9.0)); };
  const auto sum_x = [](const pipeline& x) { return x.scan(running_sum("x", "sum")); };
  const auto pack_x = [](const pipeline& x) { return x.pack("x", 3); };
  const auto mix_x = [](const pipeline& x) { return mix({x, x.take(0)}, {.cost = "x"}); };
  return {
      {"filter, no field", keep_x, one_in_three, cause::missing_field, set_number},
      {"filter, no number",
       keep_x,
       {2, 5, 8, 11},
       cause::corrupt,
       [](sample& s, std::uint64_t i) { s.set("x", i % 3 == 2 ? "two" : "0"); }},
      {"filter that throws", [=](auto& x) { return x.filter(thrower); }, one_in_three,
       cause::function_error, set_number},
      {"scan, no field", sum_x, one_in_three, cause::missing_field, set_number},
      {"scan, a vector",
       sum_x,
       {2, 5, 8, 11},
       cause::wrong_shape,
       [=](sample& s, std::uint64_t i) { i % 3 == 2 ? set_tokens(s, i) : set_number(s, i); }},
      {"scan that throws", [=](auto& x) { return x.scan(looker); }, one_in_three,
       cause::function_error, set_number},
      {"flat_map that throws", [=](auto& x) { return x.flat_map(counter); }, one_in_three,
       cause::function_error, set_number, "", "#0"},
      {"mix, no field", mix_x, one_in_three, cause::missing_field, set_tokens},
      {"pack, no field", pack_x, one_in_three, cause::missing_field, set_tokens, "(", ")"},
      {"pack, rank 0",
       pack_x,
       {2, 5, 8, 11},
       cause::wrong_shape,
       [=](sample& s, std::uint64_t i) { i % 3 == 2 ? set_number(s, i) : set_tokens(s, i); },
       "(",
       ")"},
  };
}

/// Sample i has `n` and `x`; every third one has no `x` if that is the subject's fault.
pipeline numbers(const subject& x) {
  return from_function("numbers@1", samples, [x](std::uint64_t i, sample& s) {
    s.set("n", i);
    if (x.why != cause::missing_field || x.bad.count(i) == 0)
      x.set_x(s, i);
  });
}

/// Adds a field that all samples have, whatever came before.
pipeline alike(const pipeline& x) {
  return x.map("alike@1", [](sample& s, context&) { s.set("y", std::int64_t{1}); })
      .map(select({"y"}));
}

/// Operators that may follow, and pass bad samples on: they probe content again, keep items back,
/// or join.
std::vector<std::function<pipeline(const pipeline&)>> above() {
  const auto all = probing("all@1", [](sample& s) { return !s.fields().empty(); });
  return {
      [](const pipeline& x) { return x; },
      [=](const pipeline& x) { return x.filter(all); },
      [](const pipeline& x) { return x.shuffle_buffer(4).scan(running_count("c")); },
      [=](const pipeline& x) {
        return mix({x, x.take(0)}).shuffle_buffer(3).filter(all).take(99);
      },
      [=](const pipeline& x) {
        return concat({x.skip(0).filter(all), x.take(0)});
      },
  };
}

struct outcome {
  std::multiset<std::string> bad;
  std::set<cause> why;
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t counted = 0;
};

outcome run_masked(const pipeline& data, std::size_t workers) {
  loader from{data, {.workers = workers, .bad_samples = bad_sample_policy::mask}};
  outcome result;
  while (const auto x = from.next()) {
    for (const auto& row : x->bad()) {
      result.bad.insert(row.id);
      result.why.insert(row.why);
    }
    result.valid += x->valid_rows();
    result.invalid += x->bad().size();
    for (std::size_t i = 0; i < x->size(); ++i)
      if (x->valid()[i] != 0 && x->view<std::int64_t, 1>("y")(i) != 1)
        throw std::logic_error("a row that is not as it was made");
  }
  for (const auto n : from.stats().bad)
    result.counted += n;
  return result;
}

TEST_CASE("bad samples: what an operator cannot judge is invalid, counted and named under mask") {
  for (const auto& x : subjects()) {
    std::multiset<std::string> expected;
    for (const auto i : x.bad)
      expected.insert(x.before + "numbers/" + std::to_string(i) + x.behind);
    std::size_t number = 0;
    for (const auto& more : above()) {
      const auto data = alike(more(x.operate(numbers(x)))).batch(1, {.end = epoch_end::mask});
      for (const std::size_t workers : {0, 2}) {
        CAPTURE(x.name, number, workers);
        const auto got = run_masked(data, workers);
        CHECK(got.bad == expected);
        CHECK(got.why == std::set{x.why});
        CHECK(got.invalid == expected.size());
        CHECK(got.counted == expected.size());
        CHECK(got.valid > 0);
      }
      ++number;
    }
  }
}

TEST_CASE("bad samples: what an operator cannot judge is an error that names it under fail") {
  for (const auto& x : subjects()) {
    const auto data = alike(x.operate(numbers(x))).batch(1, {.end = epoch_end::mask});
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(x.name, workers);
      loader from{data, {.workers = workers}};
      const auto failed = check_refusal([&] { drain(from); }, errc::bad_sample).details();
      CHECK(failed.sample == "numbers/" + std::to_string(*x.bad.begin()));
      CHECK(failed.stage.starts_with(x.name.substr(0, x.name.find_first_of(", "))));
    }
  }
}

} // namespace
} // namespace leat::unjudged_test
