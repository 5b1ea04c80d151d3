#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/conformance/forged_job.hpp"
#include "tests/conformance/pipelines.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/snapshot_forger.hpp"

#include <leat/pipeline.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

// Snapshots with a correct checksum and wrong numbers: whatever a snapshot contains, restoring it
// ends in an error that names what was got, or in a job that continues. LEAT_FORGERIES=N in the
// environment runs N of them instead of a few thousand.

namespace leat::test::forged_snapshots_test {
namespace {

/// Makes a check that hangs report where.
class deadline {
public:
  explicit deadline(const std::string& what) {
    std::snprintf(text_, sizeof text_, "forged snapshots: hangs: %s\n", what.c_str());
    std::signal(SIGALRM, [](int) {
      [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text_, std::strlen(text_));
      std::abort();
    });
    ::alarm(seconds);
  }
  ~deadline() { ::alarm(0); }
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

private:
  static constexpr unsigned seconds = 60;
  static inline char text_[512];
};

struct forged_case {
  std::string name;
  std::string text;
};

/// Every pipeline under every end.
std::vector<forged_case> all_cases() {
  std::vector<forged_case> cases;
  for (const auto& [name, text] : registered_pipelines()) {
    const bool is_once = leat::is_once(parse_pipeline(text + ".batch(1)").root());
    for (const std::string end : {"drop", "mask", "cycle"})
      if (!is_once || end != "cycle")
        cases.push_back(
            {name + ", " + end, text + drawing_map + ".batch(12, lanes=4, end=\"" + end + "\")"});
  }
  return cases;
}

/// A forged snapshot may ask for fields of gigabytes: with this limit that is an error, and not
/// minutes of work. A sanitizer needs more address space than this.
void limit_memory() {
  constexpr rlim_t most = rlim_t{4} << 30;
  const rlimit limit{most, most};
  if (!sanitized)
    REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
}

/// Errors are read by users: they must not contain words of C++ libraries.
void check_text(const error& x) {
  const std::string text = x.what();
  CAPTURE(text);
  REQUIRE(x.code() != errc::stuck);
  for (const auto* word : {"std::", "vector", "basic_string", "_M_"})
    REQUIRE(text.find(word) == std::string::npos);
}

void check_forgery(const forged_job& job, std::size_t number, const std::string& bytes,
                   std::map<std::string, std::size_t>& ends) {
  const auto result = job.run(bytes, number);
  if (result.problem) {
    check_text(*result.problem);
    ++ends[std::string{to_string(result.problem->code())}];
    return;
  }
  ++ends[result.others > 0 ? "another job" : "the same batches"];
}

TEST_CASE(
    "forged snapshots: any number in any message ends in an error or in a job that continues") {
  limit_memory();
  const conformance_data data;
  const auto cases = all_cases();
  const auto* asked = std::getenv("LEAT_FORGERIES");
  const std::size_t all = asked ? std::strtoull(asked, nullptr, 10) : sanitized ? 600 : 4000;
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::map<std::string, std::size_t> ends;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto forgeries = all * (i + 1) / cases.size() - all * i / cases.size();
    if (forgeries == 0)
      continue;
    const forged_job job{cases[i].text, 24};
    std::vector<snapshot_forger> genuine;
    for (const auto& x : job.snapshots())
      genuine.emplace_back(x);
    for (std::size_t k = 0; k < forgeries; ++k) {
      CAPTURE(cases[i].name, k);
      const auto number = random() % genuine.size();
      auto forged = genuine[number];
      for (auto changes = 1 + (random() % 4 == 0 ? random() % 3 : 0); changes > 0; --changes)
        forged.change(random, genuine[random() % genuine.size()]);
      const deadline limit{cases[i].name + ", seed " + std::to_string(seed) + ", "
                           + std::to_string(k)};
      check_forgery(job, number, forged.bytes(), ends);
    }
  }
  for (const auto& [end, times] : ends)
    std::printf("%8zu %s\n", times, end.c_str());
}

TEST_CASE("forged snapshots: taken apart and put together, a snapshot is the same job") {
  const conformance_data data;
  for (const auto& x : all_cases()) {
    CAPTURE(x.name);
    const forged_job job{x.text, 5};
    for (std::size_t i = 0; i < job.snapshots().size(); ++i) {
      const auto bytes = snapshot_forger{job.snapshots()[i]}.bytes();
      REQUIRE(encode(decode(bytes, "again")) == job.snapshots()[i]);
    }
    const auto number = job.snapshots().size() / 2;
    const auto result = job.run(snapshot_forger{job.snapshots()[number]}.bytes(), number);
    REQUIRE_FALSE(result.problem);
    REQUIRE(result.batches - result.others
            == std::min<std::size_t>(result.batches, job.snapshots().size() - number - 1));
  }
}

} // namespace
} // namespace leat::test::forged_snapshots_test
