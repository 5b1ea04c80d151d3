// next() and one field of batches of one 8-byte row, in the caller's thread: what
// tests/bench/python compares Python's with.

#include "tests/bench/harness.hpp"

#include <leat/leat.hpp>

#include <memory>
#include <stdexcept>

namespace leat::bench {

std::vector<bench_case> next_cases(const std::string& /*folder*/) {
  constexpr int batches = 200'000;
  const auto start = [] {
    const auto from = std::make_shared<loader>(count(std::uint64_t{1} << 40).batch(1),
                                               loader_options{.workers = 0});
    return [from](int) -> std::vector<double> {
      const auto work = [&] {
        for (int i = 0; i < batches; ++i)
          if (!from->next()->field("value").data)
            throw std::logic_error("a batch without its field");
      };
      return {1e6 * seconds_of(work, thread_seconds) / batches};
    };
  };
  return {{"next() and one field", {{"CPU time of next() and one field", "us"}}, start}};
}

} // namespace leat::bench
