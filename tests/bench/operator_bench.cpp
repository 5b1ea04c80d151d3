// What each operator costs: items per second of processor time of a pipeline that has it and little
// else, in the caller's thread and with two workers (then of all threads together), beside a bare
// loop that does the same to the same items: numbers, lines and documents in memory or in the page
// cache. A bare loop makes no ids, digests or snapshots, and its order is not that of any other
// number of ranks. In turns; medians and extremes. Nothing is asserted.
// Run: build/bin/leat-operator-bench [ROUNDS [NAME]]

#include "tests/bench/measure.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

namespace {

using namespace leat;
using bench::report;
using bench::spread_of;

constexpr std::uint64_t numbers = 4'000'000;
constexpr std::uint64_t documents = 40'000;
constexpr std::size_t rows = 1024;
constexpr std::size_t buffer_items = 10'000;
constexpr std::size_t packed = 4096;

/// Of all threads.
double cpu_seconds() {
  timespec x{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &x);
  return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
}

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

/// Gives each line of a file, read in blocks, to `take`.
template <class Take>
void for_each_line(const std::string& path, Take take) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> block(std::size_t{1} << 20);
  std::size_t kept = 0;
  for (;;) {
    const auto n = ::read(file, block.data() + kept, block.size() - kept);
    if (n <= 0)
      break;
    const char* begin = block.data();
    const char* end = begin + kept + static_cast<std::size_t>(n);
    while (const auto* stop = static_cast<const char*>(
               std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)))) {
      take(std::string_view{begin, static_cast<std::size_t>(stop - begin)});
      begin = stop + 1;
    }
    kept = static_cast<std::size_t>(end - begin);
    std::memmove(block.data(), begin, kept);
  }
  ::close(file);
}

/// Items that leave in a drawn order.
template <class Item>
class plain_buffer {
public:
  template <class Take>
  void put(Item x, Take take) {
    if (items_.size() < buffer_items)
      return items_.push_back(std::move(x));
    auto& place = items_[random_() % buffer_items];
    take(place);
    place = std::move(x);
  }
  template <class Take>
  void empty(Take take) {
    std::shuffle(items_.begin(), items_.end(), random_);
    for (const auto& x : items_)
      take(x);
  }

private:
  std::minstd_rand random_{1};
  std::vector<Item> items_;
};

bool is_kept(std::string_view x) {
  return (x.back() & 1) == 0;
}

filter_stage kept_lines() {
  return {"even@1", {}, [] { return [](sample& x) { return is_kept(x.text("text")); }; }};
}

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

void append_numbers(std::vector<operator_case>& to) {
  const auto plain = count(numbers);
  const auto all = [](plain_batch& out) {
    for (std::uint64_t i = 0; i < numbers; ++i)
      out.put(i);
  };
  to.push_back({"count", batched(plain), numbers, all});
  to.push_back({"shuffle", batched(plain.shuffle()), numbers, [](plain_batch& out) {
                  std::vector<std::uint32_t> order(numbers);
                  std::iota(order.begin(), order.end(), 0U);
                  std::shuffle(order.begin(), order.end(), std::mt19937_64{1});
                  for (const auto x : order)
                    out.put(std::uint64_t{x});
                }});
  to.push_back({"take and skip", batched(plain.skip(7).take(numbers)), numbers, all});
  to.push_back({"repeat", batched(count(numbers / 4).repeat(4)), numbers, [](plain_batch& out) {
                  for (int pass = 0; pass < 4; ++pass)
                    for (std::uint64_t i = 0; i < numbers / 4; ++i)
                      out.put(i);
                }});
  to.push_back({"enumerate", batched(plain.enumerate()), numbers, [](plain_batch& out) {
                  for (std::uint64_t i = 0; i < numbers; ++i) {
                    out.put(i);
                    out.put(i);
                  }
                }});
  to.push_back({"concat", batched(concat({count(numbers / 2), count(numbers / 2)})), numbers,
                [](plain_batch& out) {
                  for (int pass = 0; pass < 2; ++pass)
                    for (std::uint64_t i = 0; i < numbers / 2; ++i)
                      out.put(i);
                }});
  to.push_back({"zip", batched(zip({plain, plain.map(leat::rename("value", "other"))})), numbers,
                [](plain_batch& out) {
                  for (std::uint64_t i = 0; i < numbers; ++i) {
                    out.put(i);
                    out.put(i);
                  }
                }});
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
                  plain_buffer<std::uint64_t> buffer;
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
  const auto key = [](sample& x) { return x.view<std::uint8_t, 1>("value")[0]; };
  to.push_back({"scan",
                batched(plain.scan({"sum@1",
                                    {},
                                    [key] {
                                      return scan_function{
                                          [key](sample& x) {
                                            return std::string(1, static_cast<char>(key(x)));
                                          },
                                          [](sample& x, std::string_view result) {
                                            x.set("sum",
                                                  std::int64_t{result.empty() ? 0 : result[0]});
                                          }};
                                    },
                                    std::string(1, '\0'),
                                    [](std::string& state, std::string_view looked) {
                                      state[0] = static_cast<char>(state[0] + looked[0]);
                                      return state;
                                    }})),
                numbers, [](plain_batch& out) {
                  std::uint8_t sum = 0;
                  for (std::uint64_t i = 0; i < numbers; ++i) {
                    sum = static_cast<std::uint8_t>(sum + i);
                    out.put(i);
                    out.put(std::uint64_t{sum});
                  }
                }});
  to.push_back({"flat_map (4 children)",
                batched(count(numbers / 4)
                            .flat_map({"four@1",
                                       {},
                                       [] {
                                         return flat_map_function{
                                             [](sample&) { return std::uint64_t{4}; },
                                             [](sample&, std::uint64_t) {}};
                                       },
                                       4})),
                numbers, [](plain_batch& out) {
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

void append_lines(std::vector<operator_case>& to, const std::string& path) {
  const auto plain = lines(path, {.ranges = 16});
  to.push_back({"lines of 8 bytes", batched(plain), numbers, [path](plain_batch& out) {
                  for_each_line(path, [&](std::string_view x) { out.put(x); });
                }});
  to.push_back({"  behind a shuffle buffer", batched(plain.shuffle_buffer(buffer_items)), numbers,
                [path](plain_batch& out) {
                  plain_buffer<std::string> buffer;
                  const auto put = [&](const std::string& x) { out.put(x); };
                  for_each_line(path, [&](std::string_view x) { buffer.put(std::string{x}, put); });
                  buffer.empty(put);
                }});
  to.push_back({"  behind a filter on content", batched(plain.filter(kept_lines())), numbers,
                [path](plain_batch& out) {
                  for_each_line(path, [&](std::string_view x) {
                    if (is_kept(x))
                      out.put(x);
                  });
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

std::vector<operator_case> cases(const std::string& folder) {
  std::mt19937 random{1};
  const auto short_lines = folder + "/short.txt";
  std::ofstream out{short_lines};
  for (std::uint64_t i = 0; i < numbers; ++i)
    out << 1'000'000 + i % 1'000'000 << "x\n";
  const auto long_lines = folder + "/documents.txt";
  std::ofstream longer{long_lines};
  std::lognormal_distribution<double> length{7.5, 0.8};
  for (std::uint64_t i = 0; i < documents; ++i) {
    const auto n = std::clamp(length(random), 20.0, 50'000.0);
    std::string text;
    while (static_cast<double>(text.size()) < n)
      text += "word" + std::to_string(random() % 1000) + ' ';
    longer << text << '\n';
  }
  std::vector<operator_case> all;
  append_numbers(all);
  append_lines(all, short_lines);
  append_documents(all, long_lines);
  return all;
}

double of_loader(const operator_case& x, std::size_t workers) {
  loader from{x.data, {.workers = workers, .epochs = 1}};
  const auto begin = cpu_seconds();
  std::uint64_t got = 0;
  while (auto batch = from.next())
    got += batch->valid_rows();
  if (got == 0)
    throw std::logic_error("no rows of " + x.name);
  return cpu_seconds() - begin;
}

double of_loop(const operator_case& x) {
  plain_batch out;
  const auto begin = cpu_seconds();
  x.bare(out);
  const auto end = cpu_seconds();
  if (out.sum() == 1)
    throw std::logic_error("impossible");
  return end - begin;
}

void measure(const operator_case& x, int rounds) {
  std::vector<double> plain;
  std::vector<std::vector<double>> ours(2);
  for (int i = 0; i < rounds; ++i) {
    const auto items = 1e-6 * static_cast<double>(x.items);
    plain.push_back(items / of_loop(x));
    ours[0].push_back(items / of_loader(x, 0));
    ours[1].push_back(items / of_loader(x, 2));
  }
  report(x.name + ", caller's thread", spread_of(ours[0]), "million/s");
  report(x.name + ", two workers, all threads", spread_of(ours[1]), "million/s");
  report("    a bare loop", spread_of(plain), "million/s");
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::string_view wanted = argc > 2 ? argv[2] : "";
  const test::temporary_directory folder;
  for (const auto& x : cases(folder.path()))
    if (x.name.find(wanted) != std::string::npos)
      measure(x, rounds);
}
