#include "runtime/children/isolated_map.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "tests/support/living_children.hpp"
#include "tests/support/places.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

#include <sys/wait.h>

#include <csignal>
#include <cstdio>

namespace leat::isolated_map_test {
namespace {

/// leat's own maps in a place of each kind: before a shuffle, before and after what looks at
/// content, in one of two inputs, and last; `isolate` draws which of them are isolated.
pipeline drawn_pipeline(std::mt19937_64& shape, const std::function<bool()>& isolate) {
  const auto here = [&] { return map_options{.isolate = isolate()}; };
  const auto records = 40 + shape() % 200;
  const auto length = 8 + shape() % 7;
  auto x = count(records).shuffle({.seed = shape() % 9}).map(pad("value", length), here());
  if (shape() % 2 == 0)
    x = x.filter(field_hash("value", 70, shape() % 5));
  if (shape() % 3 == 0)
    x = mix({x, count(50).map(pad("value", 16), here())});
  x = x.map(default_field("x", std::int64_t{3}), here());
  if (shape() % 3 == 0)
    x = x.flat_map(copies(2)).shuffle_buffer(16 * (1 + shape() % 3), 4);
  // Those of the other input may be too long for this: bad samples.
  x = x.map(pad("value", length + shape() % 4), here()).map(ragged("value"), here());
  const auto rows = 4 * (1 + shape() % 5);
  return x.batch(rows, {.lanes = shape() % 2 == 0 ? 4U : 2U, .end = epoch_end::mask});
}

struct handed_over {
  std::string digest;
  std::string snapshot;
  std::vector<std::string> ids;
  std::vector<std::string> bad;

  friend bool operator==(const handed_over&, const handed_over&) = default;
};

loader_options options_of(std::size_t workers) {
  return {.workers = workers, .epochs = 2, .bad_samples = bad_sample_policy::mask};
}

/// Without their snapshots, which may count from another base after a resume, or where samples that
/// are probed come late.
std::vector<handed_over> batches(std::vector<handed_over> all) {
  for (auto& x : all)
    x.snapshot.clear();
  return all;
}

/// All that a loader hands over, from where it stands; `between` is called after each batch.
template <class Between>
std::vector<handed_over> rest_of(loader& from, Between between) {
  std::vector<handed_over> all;
  while (const auto batch = from.next()) {
    handed_over x{to_string(batch->digest()), batch->snapshot(), batch->ids(), {}};
    for (const auto& bad : batch->bad())
      x.bad.push_back(bad.id + ' ' + std::string{to_string(bad.why)} + ' ' + bad.text);
    all.push_back(std::move(x));
    between();
  }
  return all;
}

std::vector<handed_over> all_of(const pipeline& data, std::size_t workers) {
  loader from{data, options_of(workers)};
  return rest_of(from, [] {});
}

TEST_CASE("isolated_map: random pipelines hand over the same batches and snapshots, whatever is "
          "isolated, while children are killed, and after restores") {
  const auto first = std::random_device{}();
  for (std::uint64_t seed = first; seed < first + 4ULL; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 shape{seed};
    const auto plain = drawn_pipeline(shape, [] { return false; });
    const auto needed = all_of(plain, 0);
    REQUIRE(needed.size() > 2);
    std::mt19937_64 chance{seed + 1};
    shape.seed(seed);
    const auto data = drawn_pipeline(shape, [&] { return chance() % 2 == 0; });
    REQUIRE(all_of(data, 0) == needed);
    {
      loader killed{data, options_of(1 + chance() % 3)};
      const auto found = rest_of(killed, [&] {
        if (const auto all = test::living_children(); !all.empty() && chance() % 3 == 0)
          ::kill(all[chance() % all.size()], chance() % 2 == 0 ? SIGKILL : SIGTERM);
      });
      REQUIRE(batches(found) == batches(needed));
    }
    const auto cut = chance() % (needed.size() - 1);
    const std::vector<handed_over> left{needed.begin() + static_cast<std::ptrdiff_t>(cut) + 1,
                                        needed.end()};
    for (const auto* to : {&data, &plain}) {
      loader resumed{*to, options_of(chance() % 3)};
      resumed.restore_parts({needed[cut].snapshot});
      REQUIRE(batches(rest_of(resumed, [] {})) == batches(left));
    }
  }
  REQUIRE(test::living_children().empty());
}

TEST_CASE("isolated_map: texts have it, facts do not") {
  const auto plain = count(9).map(pad("value", 9)).batch(3);
  const auto data = count(9).map(pad("value", 9), {.isolate = true}).batch(3);
  const auto text = to_string(data);
  REQUIRE(has(text, ".map(\"pad@1\", field=\"value\", length=9, value=0, isolate=true)"));
  REQUIRE(to_string(parse_pipeline(text)) == text);
  REQUIRE(parse_pipeline(text) == data);
  REQUIRE_FALSE(plain == data);
  REQUIRE_FALSE(has(to_string(plain), "isolate"));
  REQUIRE(to_string(parse_pipeline("count(9).map(\"pad@1\", isolate=false, field=\"value\", "
                                   "length=9).batch(3)"))
          == to_string(plain));
  REQUIRE(operators_of(plain) == operators_of(data));
  const auto graph = graph_of(data);
  REQUIRE(graph.rounds.back().function.back() == "map pad@1, in child processes");
  REQUIRE(thrown_by([] {
            (void)parse_pipeline("count(9).map(\"pad@1\", field=\"value\", length=9, isolate=3)");
          }).code()
          == errc::invalid_argument);
}

TEST_CASE("isolated_map: a function with a parameter of this name keeps it, in quotes") {
  register_map("odd@1", [](const std::string& parameters) {
    return map_stage{"odd@1", parameters, [] { return [](sample&, context&) {}; }};
  });
  const auto data =
      count(9).map(map_stage{"odd@1", "isolate=true", [] { return [](sample&, context&) {}; }});
  REQUIRE(has(to_string(data), ".map(\"odd@1\", \"isolate=true\")"));
  REQUIRE(parse_pipeline(to_string(data)) == data);
}

TEST_CASE("isolated_map: functions of a program that is not its own child are refused") {
  const auto problem =
      thrown_by([] { (void)count(9).map("mine@1", [](sample&, context&) {}, {.isolate = true}); });
  REQUIRE(problem.code() == errc::invalid_argument);
  REQUIRE(has(problem.what(), "mine@1"));
  REQUIRE(has(problem.what(), "run_worker(argc, argv, maps) first in main"));
  register_map("drop_fields@1", [](const std::string& parameters) {
    return map_stage{"drop_fields@1", parameters, [] { return [](sample&, context&) {}; }};
  });
  REQUIRE(code_of([] { (void)count(9).map(drop_fields({"x"}), {.isolate = true}); })
          == errc::invalid_argument); // it is the program's now
}

TEST_CASE("isolated_map: other functions in its place run in this process") {
  const auto data = count(9).map(pad("value", 9), {.isolate = true}).batch(3);
  const auto before = test::living_children().size();
  loader all{with_maps(data, {{.name = "pad@1",
                               .parameters = "field=value length=9 value=0",
                               .make = [] { return [](sample&, context&) {}; }}}),
             {.workers = 1, .epochs = 1}};
  REQUIRE(all.next()->field("value").shape[1] == 8);
  REQUIRE(test::living_children().size() == before);
}

/// What the program prints that isolates functions of its own.
std::string output_of(const std::string& arguments) {
  const auto line = std::string{test::child_program} + " job " + arguments;
  auto* const from = ::popen(line.c_str(), "r"); // NOLINT(cert-env33-c)
  REQUIRE(from != nullptr);
  std::string text;
  for (std::array<char, 4096> part{};
       const auto size = std::fread(part.data(), 1, part.size(), from);)
    text.append(part.data(), size);
  REQUIRE(::pclose(from) == 0);
  return text;
}

TEST_CASE("isolated_map: a program isolates its own functions, and a sample that crashes is bad") {
  REQUIRE(output_of("none yes") == output_of("none no"));
  REQUIRE(output_of("crash yes")
          == output_of("bad no")
                 + "count/7 killed it ended its process twice, alone: signal 11 "
                   "(Segmentation fault)\n");
  REQUIRE(output_of("exit yes")
          == output_of("bad no")
                 + "count/7 killed it ended its process twice, alone: exit code 3\n");
  REQUIRE(has(output_of("kill yes"), "no resources: mine@1, sample count/7"));
}

} // namespace
} // namespace leat::isolated_map_test
