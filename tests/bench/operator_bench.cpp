// What each operator costs: items per second of processor time of a pipeline that has it and little
// else, in the caller's thread and with two workers (then of all threads together), beside a bare
// loop that does the same to the same items: numbers, and documents in the page cache. A bare loop
// makes no ids, digests or snapshots, and its order is not that of any other number of ranks.

#include "tests/bench/harness.hpp"

#include <leat/leat.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace leat::bench {

namespace {

constexpr std::uint64_t numbers = 4'000'000;
constexpr std::uint64_t documents = 40'000;
constexpr std::size_t rows = 1024;
constexpr std::size_t buffer_items = 10'000;
constexpr std::size_t packed = 4096;

/// What a bare loop puts its rows into, again and again.
class plain_batch {
public:
  void put(std::uint64_t x) {
    values_[at_] = x;
    at_ = (at_ + 1) % rows;
  }
  void put(std::string_view x) {
    if (x.size() > bytes_.size() - used_)
      used_ = 0;
    if (x.size() > bytes_.size())
      bytes_.resize(2 * x.size());
    std::memcpy(bytes_.data() + used_, x.data(), x.size());
    used_ += x.size();
    put(std::uint64_t{used_});
  }
  std::uint64_t sum() const {
    return std::accumulate(values_.begin(), values_.end(), std::uint64_t{0});
  }

private:
  std::vector<std::uint64_t> values_ = std::vector<std::uint64_t>(rows);
  std::vector<char> bytes_ = std::vector<char>(std::size_t{4} << 20);
  std::size_t at_ = 0;
  std::size_t used_ = 0;
};

/// Items that leave in a drawn order.
class plain_buffer {
public:
  template <class Take>
  void put(std::uint64_t x, Take take) {
    if (items_.size() < buffer_items)
      return items_.push_back(x);
    auto& place = items_[random_() % buffer_items];
    take(place);
    place = x;
  }
  template <class Take>
  void empty(Take take) {
    std::shuffle(items_.begin(), items_.end(), random_);
    for (const auto x : items_)
      take(x);
  }

private:
  std::minstd_rand random_{1};
  std::vector<std::uint64_t> items_;
};

struct operator_case {
  std::string name;
  pipeline data;
  /// Samples that go into the operator.
  std::uint64_t items;
  std::function<void(plain_batch&)> bare;
};

pipeline batched(const pipeline& x) {
  return x.batch(rows, {.lanes = 16, .end = epoch_end::mask});
}

/// Puts the numbers up to `n` into each column, again in each pass.
template <int columns = 1>
auto each_number(std::uint64_t n = numbers, int passes = 1) {
  return [=](plain_batch& out) {
    for (int pass = 0; pass < passes; ++pass)
      for (std::uint64_t i = 0; i < n; ++i)
        for (int column = 0; column < columns; ++column)
          out.put(i);
  };
}

void append_numbers(std::vector<operator_case>& to) {
  const auto plain = count(numbers);
  to.push_back({"count", batched(plain), numbers, each_number()});
  to.push_back({"shuffle", batched(plain.shuffle()), numbers, [](plain_batch& out) {
                  std::vector<std::uint32_t> order(numbers);
                  std::iota(order.begin(), order.end(), 0U);
                  std::shuffle(order.begin(), order.end(), std::mt19937_64{1});
                  for (const auto x : order)
                    out.put(std::uint64_t{x});
                }});
  to.push_back({"take and skip", batched(plain.skip(7).take(numbers)), numbers, each_number()});
  to.push_back(
      {"repeat", batched(count(numbers / 4).repeat(4)), numbers, each_number(numbers / 4, 4)});
  to.push_back({"enumerate", batched(plain.enumerate()), numbers, each_number<2>()});
  to.push_back({"concat", batched(concat({count(numbers / 2), count(numbers / 2)})), numbers,
                each_number(numbers / 2, 2)});
  to.push_back({"zip", batched(zip({plain, plain.map(leat::rename("value", "other"))})), numbers,
                each_number<2>()});
  to.push_back(
      {"map (an integer is set)",
       batched(plain.map("set@1", [](sample& x, context&) { x.set("label", std::int64_t{1}); })),
       numbers, [](plain_batch& out) {
         for (std::uint64_t i = 0; i < numbers; ++i) {
           out.put(i);
           out.put(std::uint64_t{1});
         }
       }});
  to.push_back({"sample", batched(plain.sample(0.5)), numbers, [](plain_batch& out) {
                  std::minstd_rand random{1};
                  for (std::uint64_t i = 0; i < numbers; ++i)
                    if (random() % 2 == 0)
                      out.put(i);
                }});
  to.push_back({"shuffle_buffer", batched(plain.shuffle_buffer(buffer_items)), numbers,
                [](plain_batch& out) {
                  plain_buffer buffer;
                  const auto put = [&](std::uint64_t x) { out.put(x); };
                  for (std::uint64_t i = 0; i < numbers; ++i)
                    buffer.put(i, put);
                  buffer.empty(put);
                }});
  to.push_back({"mix",
                batched(mix({count(numbers * 2 / 3), count(numbers / 3)}, {.weights = {2, 1}})),
                numbers, [](plain_batch& out) {
                  for (std::uint64_t i = 0; i < numbers; ++i)
                    out.put(i % 3 == 2 ? i / 3 : i - i / 3);
                }});
  const auto look = [](sample& x) {
    return std::string(1, static_cast<char>(x.view<std::uint8_t, 1>("value")[0]));
  };
  const auto add = [](std::string& state, std::string_view looked) {
    state[0] = static_cast<char>(state[0] + looked[0]);
    return state;
  };
  const auto set_sum = [](sample& x, std::string_view result) {
    x.set("sum", std::int64_t{result.empty() ? 0 : result[0]});
  };
  const auto summed = [=] { return scan_function{look, set_sum}; };
  to.push_back({"scan", batched(plain.scan({"sum@1", {}, summed, std::string(1, '\0'), add})),
                numbers, [](plain_batch& out) {
                  std::uint8_t sum = 0;
                  for (std::uint64_t i = 0; i < numbers; ++i) {
                    sum = static_cast<std::uint8_t>(sum + i);
                    out.put(i);
                    out.put(std::uint64_t{sum});
                  }
                }});
  const auto four = [] {
    return flat_map_function{[](sample&) { return std::uint64_t{4}; },
                             [](sample&, std::uint64_t) {}};
  };
  to.push_back({"flat_map (4 children)",
                batched(count(numbers / 4).flat_map({"four@1", {}, four, 4})), numbers,
                [](plain_batch& out) {
                  for (std::uint64_t i = 0; i < numbers; ++i)
                    out.put(i / 4);
                }});
  to.push_back({"deduplicate (a window of 100,000)", batched(plain.deduplicate({"value"}, 100'000)),
                numbers, [](plain_batch& out) {
                  std::unordered_set<std::uint64_t> seen;
                  std::vector<std::uint64_t> window(100'000, UINT64_MAX);
                  for (std::uint64_t i = 0; i < numbers; ++i) {
                    if (!seen.insert(i).second)
                      continue;
                    seen.erase(std::exchange(window[i % window.size()], i));
                    out.put(i);
                  }
                }});
}

void append_documents(std::vector<operator_case>& to, const std::string& path) {
  const auto plain = lines(path, {.ranges = 16});
  to.push_back({"documents", batched(plain), documents, [path](plain_batch& out) {
                  for_each_line(path, [&](std::string_view x) { out.put(x); });
                }});
  to.push_back({"  pack to 4,096", batched(plain.pack("text", packed, {.split = true})), documents,
                [path](plain_batch& out) {
                  std::string row;
                  std::vector<std::int32_t> segment;
                  std::vector<std::int32_t> offset;
                  for_each_line(path, [&](std::string_view x) {
                    while (!x.empty()) {
                      const auto part = x.substr(0, packed - row.size());
                      row += part;
                      segment.insert(segment.end(), part.size(), 1);
                      offset.resize(row.size());
                      std::iota(offset.end() - static_cast<std::ptrdiff_t>(part.size()),
                                offset.end(), 0);
                      x.remove_prefix(part.size());
                      if (row.size() < packed)
                        break;
                      out.put(row);
                      out.put(std::uint64_t(segment.back() + offset.back()));
                      row.clear();
                      segment.clear();
                      offset.clear();
                    }
                  });
                }});
  to.push_back({"  length_bucket",
                batched(plain.length_bucket("text", {1000, 2000, 4000},
                                            {.group = rows, .window = 8 * rows})),
                documents, [path](plain_batch& out) {
                  std::vector<std::vector<std::string>> buckets(4);
                  for_each_line(path, [&](std::string_view x) {
                    auto& bucket = buckets[x.size() <= 1000   ? 0
                                           : x.size() <= 2000 ? 1
                                           : x.size() <= 4000 ? 2
                                                              : 3];
                    bucket.emplace_back(x);
                    if (bucket.size() < rows / 16)
                      return;
                    for (const auto& y : bucket)
                      out.put(y);
                    bucket.clear();
                  });
                }});
}

void write_documents(const std::string& path) {
  std::mt19937 random{1};
  std::ofstream out{path};
  std::lognormal_distribution<double> length{7.5, 0.8};
  for (std::uint64_t i = 0; i < documents; ++i) {
    const auto n = std::clamp(length(random), 20.0, 50'000.0);
    std::string text;
    while (static_cast<double>(text.size()) < n)
      text += "word" + std::to_string(random() % 1000) + ' ';
    out << text << '\n';
  }
}

double of_loader(const operator_case& x, std::size_t workers) {
  loader from{x.data, {.workers = workers, .epochs = 1}};
  return seconds_of([&] { take_all(from); }, process_seconds);
}

double of_loop(const operator_case& x) {
  plain_batch out;
  const auto seconds = seconds_of([&] { x.bare(out); }, process_seconds);
  if (out.sum() == 1)
    throw std::logic_error("impossible");
  return seconds;
}

bench_case beside_bare_loop(const operator_case& x) {
  constexpr auto unit = "million/s";
  return {x.name,
          {{x.name + ", caller's thread", unit},
           {x.name + ", two workers, all threads", unit},
           {"    a bare loop", unit}},
          [x] {
            return [x](int) {
              const auto items = 1e-6 * static_cast<double>(x.items);
              const auto plain = items / of_loop(x);
              return std::vector{items / of_loader(x, 0), items / of_loader(x, 2), plain};
            };
          }};
}

} // namespace

std::vector<bench_case> operator_cases(const std::string& folder) {
  const auto path = folder + "/documents.txt";
  write_documents(path);
  std::vector<operator_case> all;
  append_numbers(all);
  append_documents(all, path);
  std::vector<bench_case> result(all.size());
  std::transform(all.begin(), all.end(), result.begin(), beside_bare_loop);
  return result;
}

} // namespace leat::bench
