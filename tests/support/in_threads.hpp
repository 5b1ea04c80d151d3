#pragma once

#include <thread>
#include <vector>

namespace leat::test {

/// Calls a function in several threads at once, with the number of each; returns when all have
/// ended.
template <class Work>
void in_threads(unsigned threads, Work work) {
  std::vector<std::jthread> all;
  for (unsigned i = 0; i < threads; ++i)
    all.emplace_back([&work, i] { work(i); });
}

} // namespace leat::test
