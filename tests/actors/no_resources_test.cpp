#include "tests/support/drain.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

#include <new>
#include <system_error>

// What the machine lacks is not a fault of a sample: under every policy the job ends with an error,
// so that no batch depends on the machine.
namespace leat::no_resources_test {
namespace {

constexpr std::uint64_t poor = 21;

/// Throws at one sample.
pipeline failing_at(const std::function<void()>& fail, bool looks = false) {
  auto data = count(60).map("fail@1", [fail](sample& x, context&) {
    if (x.text("value").substr(0, 1)[0] == static_cast<char>(poor))
      fail();
  });
  if (looks)
    data = data.filter(bytes_between("value", 1, std::nullopt));
  return data.batch(10);
}

void run(const pipeline& data, bad_sample_policy policy, std::size_t workers) {
  loader from{data, {.workers = workers, .bad_samples = policy}};
  drain(from);
}

error check_problem(const pipeline& data, bad_sample_policy policy, std::size_t workers) {
  return check_refusal([&] { run(data, policy, workers); }, errc::no_resources);
}

struct lack {
  std::string name;
  std::function<void()> fail;
};

const std::vector<lack> lacks{
    {"no memory", [] { throw std::bad_alloc{}; }},
    {"no descriptors",
     [] { throw std::system_error{std::make_error_code(std::errc::too_many_files_open)}; }},
    {"a disk's error",
     [] {
       throw(std::system_error{EIO, std::generic_category()});
     }},
    {"told by the function", [] {
       throw error(errc::no_resources, {.stage = "mine", .sample = "count/21", .got = "none"});
     }}};

TEST_CASE("no resources: an error under every policy, with the stage and the sample") {
  for (const auto& x : lacks)
    for (const auto policy :
         {bad_sample_policy::fail, bad_sample_policy::mask, bad_sample_policy::substitute})
      for (const std::size_t workers : {0, 2}) {
        CAPTURE(x.name, static_cast<int>(policy), workers);
        const auto problem = check_problem(failing_at(x.fail), policy, workers).details();
        CHECK(problem.sample == "count/21");
        CHECK((problem.stage == "fail@1" || problem.stage == "mine"));
      }
}

TEST_CASE("no resources: also while operators probe content") {
  for (const auto& x : lacks)
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(x.name, workers);
      check_problem(failing_at(x.fail, true), bad_sample_policy::mask, workers);
    }
}

TEST_CASE("no resources: a size that no machine has is a bad sample, and so is all else") {
  const std::vector<lack> others{
      {"more elements than memory can hold (vector)", [] { throw std::length_error{"vector"}; }},
      {"more elements than memory can hold", [] { throw std::bad_array_new_length{}; }},
      {"No such file",
       [] { throw std::system_error{std::make_error_code(std::errc::no_such_file_or_directory)}; }},
      {"any", [] { throw std::runtime_error{"any"}; }},
      {"input/output: got any", [] { throw error(errc::io, {.got = "any"}); }}};
  for (const auto& x : others) {
    CAPTURE(x.name);
    REQUIRE_NOTHROW(run(failing_at(x.fail), bad_sample_policy::mask, 1));
    const auto problem = check_refusal([&] { run(failing_at(x.fail), bad_sample_policy::fail, 1); },
                                       errc::bad_sample, {x.name});
    // Reported in words, not by names of the standard library.
    REQUIRE_FALSE(says(problem, "std::"));
  }
}

TEST_CASE("no resources: a map's factory that runs out of memory is not a wrong argument") {
  map_stage poor_map{.name = "poor@1", .make = []() -> map_function { throw std::bad_alloc{}; }};
  check_refusal(
      [&] { run(count(60).map(std::move(poor_map)).batch(10), bad_sample_policy::mask, 1); },
      errc::no_resources);
}

} // namespace
} // namespace leat::no_resources_test
