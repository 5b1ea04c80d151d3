// Uses the installed library as a trainer would: 100 numbers, doubled, shuffled, in batches of 10.

#include <leat/leat.hpp>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <set>
#include <vector>

namespace {

leat::pipeline doubled_numbers() {
  std::vector<std::int64_t> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  return leat::from_vector("numbers@1", "number", numbers)
      .shuffle({.seed = 7})
      .map("double@1", [](leat::sample& s,
                          leat::context&) { s.set("number", 2 * s.get<std::int64_t>("number")); })
      .batch(10);
}

std::vector<std::int64_t> read_epoch(std::size_t workers) {
  leat::loader loader(doubled_numbers(), {.workers = workers});
  std::vector<std::int64_t> seen;
  while (auto batch = loader.next()) {
    auto numbers = batch->view<std::int64_t, 1>("number");
    for (std::size_t i = 0; i < batch->size(); ++i)
      seen.push_back(numbers[i]);
  }
  return seen;
}

bool holds_each_double_once(const std::vector<std::int64_t>& seen) {
  const std::set<std::int64_t> distinct(seen.begin(), seen.end());
  return seen.size() == 100 && distinct.size() == 100 && *distinct.begin() == 0
         && *distinct.rbegin() == 198;
}

bool wrong_fields_throw() {
  leat::loader loader(doubled_numbers(), {.workers = 1});
  auto batch = loader.next();
  try {
    batch->view<float, 1>("number");
  } catch (const leat::error& e) {
    return e.code() == leat::errc::wrong_field;
  }
  return false;
}

bool check(const char* what, bool holds) {
  std::cout << (holds ? "ok      " : "FAILED  ") << what << '\n';
  return holds;
}

} // namespace

int main() {
  const auto in_caller = read_epoch(0);
  const auto by_workers = read_epoch(2);
  const bool all_hold =
      check("an epoch holds each number once, doubled", holds_each_double_once(in_caller))
      & check("two workers give the same batches", in_caller == by_workers)
      & check("a wrong field type throws leat::error across the library's border",
              wrong_fields_throw());
  return all_hold ? 0 : 1;
}
