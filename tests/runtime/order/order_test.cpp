#include "runtime/base/xxh3.hpp"
#include "runtime/order/order.hpp"
#include "tests/support/test.hpp"
#include "tests/support/uniformity.hpp"

namespace leat::order_test {
namespace {

using test::most_sigmas;
using test::sigmas_from_uniform;
using list = std::vector<std::uint64_t>;

#ifdef __OPTIMIZE__
constexpr bool optimized = true;
#else
constexpr bool optimized = false;
#endif

/// Unoptimized and sanitizer builds run the same cases with fewer keys.
constexpr std::uint64_t keys = optimized ? 100'000 : 8'000;

list first_values(const permutation& p, std::uint64_t count = 8) {
  list result(count);
  for (std::uint64_t i = 0; i < count; ++i)
    result[i] = p(i);
  return result;
}

list image(const permutation& p) {
  return first_values(p, p.size());
}

bool is_bijection(const permutation& p) {
  std::vector<bool> seen(p.size());
  for (std::uint64_t i = 0; i < p.size(); ++i) {
    const auto x = p(i);
    if (x >= p.size() || seen[x])
      return false;
    seen[x] = true;
  }
  return true;
}

/// The cell of x, which is below n, when n values are put into at most 1,000 cells of nearly the
/// same size.
struct cells {
  explicit cells(std::uint64_t values) : n(values), counts(std::min<std::uint64_t>(values, 1000)) {}
  void add(std::uint64_t x) { ++counts[x * counts.size() / n]; }
  std::uint64_t n;
  list counts;
};

/// Sizes below 1,000 or multiples of it, so that all cells have the same size.
const list chi_square_sizes{8, 9, 16, 30, 100, 257, 999, 1'000, 1'000'000, 1'000'000'000};

std::uint64_t factorial(std::uint64_t n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

bool is_odd(const list& p) {
  std::uint64_t inversions = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    inversions += static_cast<std::uint64_t>(
        std::count_if(p.begin() + static_cast<std::ptrdiff_t>(i), p.end(),
                      [&](std::uint64_t x) { return x < p[i]; }));
  return inversions % 2 == 1;
}

order_config config_of(shuffle_kind kind, list records_per_file, std::uint64_t lanes = 1) {
  order_config config;
  config.shuffle = {.seed = 7, .kind = kind, .window = 2};
  config.lanes = lanes;
  config.data_digest = {.low = 0x0123456789abcdef, .high = 0xfedcba9876543210};
  config.records_per_file = std::move(records_per_file);
  return config;
}

epoch_order order_of(order_config config, std::uint64_t epoch) {
  return {std::make_shared<const order_config>(std::move(config)), epoch};
}

list all_records(const epoch_order& order) {
  list result(order.records());
  for (std::uint64_t p = 0; p < result.size(); ++p)
    result[p] = order.record(p);
  return result;
}

bool is_each_once(list records) {
  std::sort(records.begin(), records.end());
  list all(records.size());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return records == all;
}

void append_word(std::vector<std::byte>& bytes, std::uint64_t x) {
  for (int shift = 0; shift < 64; shift += 8)
    bytes.push_back(static_cast<std::byte>(x >> shift));
}

/// The key of docs/order.md, byte by byte.
std::uint64_t documented_key(std::string_view tag, const order_config& config,
                             std::uint64_t epoch) {
  std::vector<std::byte> bytes;
  append_word(bytes, tag.size());
  for (char c : tag)
    bytes.push_back(static_cast<std::byte>(c));
  for (std::uint64_t x : {config.shuffle.seed, epoch, std::uint64_t{0}, config.source,
                          config.data_digest.low, config.data_digest.high})
    append_word(bytes, x);
  return xxh3_128(bytes).low;
}

std::uint64_t documented_window_key(std::uint64_t windows_key, std::uint64_t lane,
                                    std::uint64_t window) {
  std::vector<std::byte> bytes;
  for (std::uint64_t x : {windows_key, lane, window})
    append_word(bytes, x);
  return xxh3_64(bytes);
}

struct placed_record {
  /// Ordinal of its file in shuffled order.
  std::uint64_t file;
  std::uint64_t record;
};

/// All records, file after file in the epoch's shuffled order.
std::vector<placed_record> laid_end_to_end(const order_config& config, std::uint64_t epoch) {
  std::vector<list> records_of;
  std::uint64_t record = 0;
  for (auto size : config.records_per_file) {
    auto& records = records_of.emplace_back(size);
    std::iota(records.begin(), records.end(), record);
    record += size;
  }
  std::vector<placed_record> result;
  const permutation files{records_of.size(), documented_key("leat.order.files", config, epoch)};
  for (std::uint64_t j = 0; j < records_of.size(); ++j)
    for (auto x : records_of[files(j)])
      result.push_back({j, x});
  return result;
}

/// The definition of the windowed order, with lists in place of formulas.
list windowed_list(const order_config& config, std::uint64_t epoch) {
  const auto flat = laid_end_to_end(config, epoch);
  const auto key = documented_key("leat.order.windows", config, epoch);
  list result(flat.size());
  std::size_t at = 0;
  for (std::uint64_t lane = 0; lane < config.lanes; ++lane) {
    std::size_t length = 0;
    for (std::size_t p = lane; p < flat.size(); p += config.lanes)
      ++length;
    std::map<std::uint64_t, list> windows;
    for (std::size_t i = at; i < at + length; ++i)
      windows[(flat[i].file - flat[at].file) / config.shuffle.window].push_back(flat[i].record);
    std::uint64_t position = lane;
    for (const auto& [window, records] : windows) {
      const permutation within{records.size(), documented_window_key(key, lane, window)};
      for (std::uint64_t i = 0; i < records.size(); ++i, position += config.lanes)
        result[position] = records[within(i)];
    }
    at += length;
  }
  return result;
}

order_config random_windowed(std::mt19937_64& random) {
  list sizes(random() % 12);
  for (auto& size : sizes)
    size = random() % 4 == 0 ? 0 : random() % 20;
  auto config = config_of(shuffle_kind::windowed, sizes, 1 + random() % 8);
  config.shuffle.window = 1 + random() % 5;
  config.shuffle.seed = random();
  config.data_digest = {.low = random(), .high = random()};
  return config;
}

std::uint64_t coincidences(const list& a, const list& b) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    result += a[i] == b[i] ? 1 : 0;
  return result;
}

/// Rank correlation of two orders, in standard deviations from 0.
double correlation_sigmas(const list& a, const list& b) {
  const auto n = static_cast<double>(a.size());
  const double mean = (n - 1) / 2;
  double covariance = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    covariance += (static_cast<double>(a[i]) - mean) * (static_cast<double>(b[i]) - mean);
  return covariance / (n * (n * n - 1) / 12) * std::sqrt(n - 1);
}

void check_unrelated(const list& a, const list& b) {
  CHECK(coincidences(a, b) < 12); // Poisson of mean 1: once in 10^9
  CHECK(std::abs(correlation_sigmas(a, b)) < most_sigmas);
}

} // namespace

TEST_CASE("order: the permutation has the documented values") {
  CHECK(first_values({8, 0}) == list{5, 0, 4, 6, 7, 1, 2, 3});
  CHECK(first_values({10, 1}) == list{8, 5, 1, 3, 4, 7, 9, 6});
  CHECK(first_values({1000, 7}) == list{84, 563, 120, 510, 353, 131, 895, 98});
  CHECK(first_values({1024, 7}) == list{973, 34, 132, 344, 724, 689, 494, 288});
  CHECK(first_values({1'000'000'000, 0x0123456789abcdef})
        == list{971164032, 856269711, 943306000, 84018410, 21164214, 270357781, 255890308,
                926549355});
  CHECK(first_values({1ULL << 40, 7})
        == list{980295853861, 1070600291538, 397322962284, 9727244353, 1072368231304, 438466854181,
                261524751740, 345704733345});
  CHECK(first_values({1ULL << 63, 7}, 3)
        == list{3024575060685834299, 4110178610371663721, 8161862003361257709});
}

TEST_CASE("order: a permutation of nothing has no values") {
  CHECK(permutation{0, 1}.size() == 0);
}

TEST_CASE("order: every n up to 2^13 gives a bijection") {
  constexpr std::uint64_t last = optimized ? 1 << 13 : 1 << 10;
  for (std::uint64_t n = 1; n <= last; ++n) {
    const std::uint64_t tries = n <= 300 ? 8 : 1;
    for (std::uint64_t key = n; key < n + tries; ++key) {
      CAPTURE(n, key);
      REQUIRE(is_bijection(permutation{n, key}));
    }
  }
}

TEST_CASE("order: two values at once are those of each") {
  std::mt19937_64 random{static_cast<std::uint64_t>(Catch::rngSeed())};
  for (std::uint64_t n = 1; n < 300; ++n) {
    const permutation p{n, random()};
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto j = random() % n;
      CHECK(p(std::array{i, j}) == std::array{p(i), p(j)});
    }
  }
  for (const auto kind : {shuffle_kind::none, shuffle_kind::full, shuffle_kind::windowed}) {
    const auto order = order_of(config_of(kind, {40, 0, 33, 7, 20}, 3), 5);
    for (std::uint64_t i = 0; i < order.records(); ++i) {
      const auto j = random() % order.records();
      CHECK(order.records_at({i, j}) == std::array{order.record(i), order.record(j)});
    }
  }
}

TEST_CASE("order: random n up to 2^17 give bijections") {
  constexpr std::uint64_t seed = 1;
  std::mt19937_64 random{seed};
  for (int i = 0; i < (optimized ? 500 : 5); ++i) {
    const auto n = 1 + random() % (1 << 17);
    const auto key = random();
    CAPTURE(seed, n, key);
    REQUIRE(is_bijection(permutation{n, key}));
  }
}

TEST_CASE("order: around powers of two no two sampled inputs meet") {
  constexpr std::uint64_t seed = 2;
  std::mt19937_64 random{seed};
  constexpr std::uint64_t half = optimized ? 10'000 : 1'000;
  for (int bits : {14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                   29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 48, 62, 63})
    for (std::uint64_t above : {0, 1, 2, 3}) {
      const auto n = bits == 63 ? (1ULL << 63) - above : (1ULL << bits) - 2 + above;
      const auto key = random();
      CAPTURE(seed, n, key);
      list inputs(2 * half);
      std::iota(inputs.begin(), inputs.begin() + half, n - half);
      std::generate(inputs.begin() + half, inputs.end(), [&] { return random() % n; });
      std::sort(inputs.begin(), inputs.end());
      inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
      const permutation p{n, key};
      std::transform(inputs.begin(), inputs.end(), inputs.begin(), p);
      std::sort(inputs.begin(), inputs.end());
      REQUIRE(inputs.back() < n);
      REQUIRE(std::adjacent_find(inputs.begin(), inputs.end()) == inputs.end());
    }
}

TEST_CASE("order: over keys all permutations of few items are equally likely") {
  for (std::uint64_t n : {2, 3, 4, 5, 6}) {
    std::map<list, std::uint64_t> seen;
    for (std::uint64_t key = 0; key < (optimized ? 200 : 20) * factorial(n); ++key)
      ++seen[image(permutation{n, key})];
    CAPTURE(n);
    REQUIRE(seen.size() == factorial(n));
    list counts;
    for (const auto& [values, count] : seen)
      counts.push_back(count);
    CHECK(std::abs(sigmas_from_uniform(counts)) < most_sigmas);
  }
}

TEST_CASE("order: squares of odd numbers have odd permutations too") {
  for (std::uint64_t n : {9, 25, 49}) {
    list counts(2);
    for (std::uint64_t key = 0; key < 2'000; ++key)
      ++counts[is_odd(image(permutation{n, key})) ? 1 : 0];
    CAPTURE(n);
    CHECK(sigmas_from_uniform(counts) < most_sigmas);
  }
}

TEST_CASE("order: over keys an item lands everywhere equally often") {
  for (auto n : chi_square_sizes)
    for (std::uint64_t item : {std::uint64_t{0}, std::uint64_t{1}, n / 2, n - 1}) {
      cells landings{n};
      for (std::uint64_t key = 0; key < keys; ++key)
        landings.add(permutation{n, key}(item));
      CAPTURE(n, item);
      CHECK(std::abs(sigmas_from_uniform(landings.counts)) < most_sigmas);
    }
}

TEST_CASE("order: over keys two items land at every distance equally often") {
  for (auto n : chi_square_sizes) {
    // Neighbours, and a column apart: items that share a side of the network's rectangle.
    const auto side = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
    for (std::uint64_t lag : {std::uint64_t{1}, std::uint64_t{2}, side - 1, side, side + 1}) {
      cells distances{n - 1};
      for (std::uint64_t key = 0; key < keys; ++key) {
        const permutation p{n, key};
        const auto item = key % (n - lag);
        distances.add((p(item + lag) + n - p(item)) % n - 1);
      }
      CAPTURE(n, lag);
      CHECK(std::abs(sigmas_from_uniform(distances.counts)) < most_sigmas);
    }
  }
}

TEST_CASE("order: within one permutation neighbours land at every distance equally often") {
  for (std::uint64_t n : {1'000'000ULL, 1'000'000'000ULL, 1ULL << 40})
    for (std::uint64_t key : {1, 2, 3}) {
      const permutation p{n, key};
      cells distances{n};
      for (std::uint64_t i = 0; i < keys; ++i)
        distances.add((p(i + 1) + n - p(i)) % n);
      CAPTURE(n, key);
      CHECK(std::abs(sigmas_from_uniform(distances.counts)) < most_sigmas);
    }
}

TEST_CASE("order: items keep their distance no more often than by chance") {
  constexpr std::uint64_t items = 100;
  for (std::uint64_t n : {200, 1'000, 1'024, 10'000}) {
    const auto side = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
    for (std::uint64_t lag : {std::uint64_t{1}, side - 1, side}) {
      std::uint64_t kept = 0;
      for (std::uint64_t key = 0; key < keys / 20; ++key) {
        const permutation p{n, key};
        for (std::uint64_t i = 0; i < items; ++i)
          kept += (p(i + lag) + n - p(i)) % n == lag ? 1 : 0;
      }
      CAPTURE(n, lag);
      const auto expected = static_cast<double>(items * (keys / 20)) / static_cast<double>(n - 1);
      CHECK(std::abs(static_cast<double>(kept) - expected) < most_sigmas * std::sqrt(expected));
    }
  }
}

TEST_CASE("order: within one permutation each block of inputs spreads over all blocks of outputs") {
  constexpr std::uint64_t blocks = 16;
  for (std::uint64_t n : {4'096, 65'536, 160'000})
    for (std::uint64_t key : {1, 2, 3}) {
      const permutation p{n, key};
      list counts(blocks * blocks);
      for (std::uint64_t i = 0; i < n; ++i)
        ++counts[i * blocks / n * blocks + p(i) * blocks / n];
      CAPTURE(n, key);
      // Rows and columns have fixed sums, so the degrees of freedom are 225, not 255.
      const double sigmas = sigmas_from_uniform(counts);
      CHECK(sigmas < most_sigmas);
      CHECK(sigmas > -most_sigmas - 30 / std::sqrt(2 * 225.0));
    }
}

TEST_CASE("order: none is the stored order") {
  CHECK(all_records(order_of(config_of(shuffle_kind::none, {3, 0, 2}), 5)) == list{0, 1, 2, 3, 4});
}

TEST_CASE("order: full is the permutation under the documented key") {
  auto config = config_of(shuffle_kind::full, {300, 700});
  config.source = 3;
  for (std::uint64_t epoch : {0, 1, 90}) {
    const permutation expected{1000, documented_key("leat.order.full", config, epoch)};
    CHECK(all_records(order_of(config, epoch)) == image(expected));
  }
}

TEST_CASE("order: full reaches the last of 10^9 records") {
  const auto order = order_of(config_of(shuffle_kind::full, {1'000'000'000}, 240), 0);
  std::set<std::uint64_t> seen;
  for (std::uint64_t p = order.records() - 1'000; p < order.records(); ++p)
    seen.insert(order.record(p));
  CHECK(seen.size() == 1'000);
  CHECK(*seen.rbegin() < 1'000'000'000);
  CHECK(*seen.rbegin() > 900'000'000);
}

TEST_CASE("order: seed, epoch, source and data give unrelated orders") {
  const auto base = config_of(shuffle_kind::full, {10'007});
  const auto order = all_records(order_of(base, 0));
  CHECK(order == all_records(order_of(base, 0)));

  check_unrelated(order, all_records(order_of(base, 1)));
  const auto check_other = [&](auto change) {
    auto other = base;
    change(other);
    check_unrelated(order, all_records(order_of(other, 0)));
  };
  check_other([](order_config& x) { x.shuffle.seed += 1; });
  check_other([](order_config& x) { x.source += 1; });
  check_other([](order_config& x) { x.data_digest.low += 1; });
  check_other([](order_config& x) { x.data_digest.high += 1; });
}

TEST_CASE("order: windowed files and windows change with the epoch, each on its own") {
  auto config = config_of(shuffle_kind::windowed, list(2'000, 1));
  config.shuffle.window = 1; // order of just the files
  check_unrelated(all_records(order_of(config, 0)), all_records(order_of(config, 1)));
  config.records_per_file = {10'007}; // order inside just one window
  check_unrelated(all_records(order_of(config, 0)), all_records(order_of(config, 1)));
  auto full = config;
  full.shuffle.kind = shuffle_kind::full;
  check_unrelated(all_records(order_of(config, 0)), all_records(order_of(full, 0)));
}

TEST_CASE("order: two windows and two lanes are permuted on their own") {
  constexpr std::uint64_t n = 2'000;
  auto config = config_of(shuffle_kind::windowed, list(4, n), 2);
  config.shuffle.window = 1;
  const auto order = order_of(config, 0);
  std::vector<list> inside(4, list(n)); // for each lane and window: place in its file
  for (std::uint64_t p = 0; p < order.records(); ++p)
    inside[p % 2 * 2 + p / 2 / n][p / 2 % n] = order.record(p) % n;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = a + 1; b < 4; ++b)
      check_unrelated(inside[a], inside[b]);
}

TEST_CASE("order: windowed is what its definition lists") {
  constexpr std::uint64_t seed = 3;
  std::mt19937_64 random{seed};
  for (int i = 0; i < (optimized ? 3'000 : 200); ++i) {
    const auto config = random_windowed(random);
    const auto epoch = random() % 5;
    CAPTURE(seed, i, config.records_per_file, config.lanes, config.shuffle.window, epoch);
    const auto records = all_records(order_of(config, epoch));
    REQUIRE(is_each_once(records));
    REQUIRE(records == windowed_list(config, epoch));
  }
}

TEST_CASE("order: a window of more files than there are is one window") {
  auto config = config_of(shuffle_kind::windowed, {5, 0, 7, 9}, 2);
  config.shuffle.window = ~std::uint64_t{0};
  CHECK(all_records(order_of(config, 0)) == windowed_list(config, 0));
}

TEST_CASE("order: a windowed lane reads only its own run of files, window after window") {
  constexpr std::uint64_t seed = 4;
  std::mt19937_64 random{seed};
  for (int i = 0; i < 200; ++i) {
    const auto config = random_windowed(random);
    std::map<std::uint64_t, std::uint64_t> file_of;
    for (const auto& x : laid_end_to_end(config, 0))
      file_of[x.record] = x.file;
    const auto order = order_of(config, 0);
    CAPTURE(seed, i, config.records_per_file, config.lanes, config.shuffle.window);
    std::uint64_t last_of_lanes_before = 0;
    for (std::uint64_t lane = 0; lane < config.lanes; ++lane) {
      list files;
      for (std::uint64_t p = lane; p < order.records(); p += config.lanes)
        files.push_back(file_of.at(order.record(p)));
      REQUIRE(files.size()
              == epoch_geometry{.items = order.records(), .lanes = config.lanes}.lane_items(lane));
      if (files.empty())
        continue;
      const auto [first, last] = std::minmax_element(files.begin(), files.end());
      REQUIRE(*first >= last_of_lanes_before);
      last_of_lanes_before = *last;
      auto window = [&, f = *first](std::uint64_t file) {
        return (file - f) / config.shuffle.window;
      };
      REQUIRE(std::is_sorted(files.begin(), files.end(), [&](std::uint64_t a, std::uint64_t b) {
        return window(a) < window(b);
      }));
    }
  }
}

TEST_CASE("order: lanes do not change none and full") {
  for (auto kind : {shuffle_kind::none, shuffle_kind::full}) {
    const auto one = all_records(order_of(config_of(kind, {40, 60}, 1), 2));
    for (std::uint64_t lanes : {2, 3, 24})
      CHECK(all_records(order_of(config_of(kind, {40, 60}, lanes), 2)) == one);
  }
}

TEST_CASE("order: drop ends where the first lane is dry, mask where the last is") {
  constexpr std::uint64_t seed = 5;
  std::mt19937_64 random{seed};
  for (int i = 0; i < 3'000; ++i) {
    const auto rows_of_lane = 1 + random() % 6;
    epoch_geometry drop{.items = random() % 300, .lanes = 1 + random() % 12};
    drop.batch_rows = rows_of_lane * drop.lanes;
    auto mask = drop;
    mask.end = epoch_end::mask;
    CAPTURE(seed, i, drop.items, drop.batch_rows, drop.lanes);

    list items(drop.lanes);
    for (std::uint64_t lane = 0; lane < drop.lanes; ++lane) {
      items[lane] = drop.lane_items(lane);
      REQUIRE(items[lane] == mask.lane_items(lane));
    }
    const auto [least, most] = std::minmax_element(items.begin(), items.end());
    REQUIRE(std::accumulate(items.begin(), items.end(), 0ULL) == drop.items);
    REQUIRE(drop.batches() == *least / rows_of_lane);
    REQUIRE(drop.positions() == drop.batches() * drop.batch_rows);
    REQUIRE(mask.batches() == (*most + rows_of_lane - 1) / rows_of_lane);
    REQUIRE(mask.positions() == mask.items);
  }
}

TEST_CASE("order: an epoch of no records has no batch") {
  for (auto kind : {shuffle_kind::none, shuffle_kind::full, shuffle_kind::windowed})
    for (const auto& files : {list{}, list{0, 0}})
      CHECK(order_of(config_of(kind, files, 2), 0).records() == 0);
  const epoch_geometry shape{.items = 0, .batch_rows = 2, .lanes = 2, .end = epoch_end::mask};
  CHECK(shape.batches() == 0);
  CHECK(shape.positions() == 0);
  CHECK(shape.lane_items(0) == 0);
}

TEST_CASE("order: epochs have the documented records") {
  const auto full = config_of(shuffle_kind::full, {10});
  const auto windowed = config_of(shuffle_kind::windowed, {4, 0, 3, 5}, 2);
  CHECK(all_records(order_of(full, 0)) == list{6, 5, 2, 3, 0, 7, 1, 4, 9, 8});
  CHECK(all_records(order_of(full, 1)) == list{2, 1, 3, 7, 0, 6, 9, 4, 8, 5});
  CHECK(all_records(order_of(windowed, 0)) == list{11, 5, 0, 1, 8, 6, 7, 4, 9, 3, 10, 2});
  CHECK(all_records(order_of(windowed, 1)) == list{7, 1, 9, 3, 4, 6, 10, 0, 11, 5, 8, 2});
  CHECK(documented_key("leat.order.full", full, 0) == 0x14b8adcdcce42dca);
  CHECK(documented_key("leat.order.files", windowed, 0) == 0xd87408f2349d2b39);
  CHECK(documented_key("leat.order.windows", windowed, 0) == 0xf51b5c7d99ac8ae6);
  CHECK(documented_window_key(documented_key("leat.order.windows", windowed, 0), 1, 0)
        == 0xd6d2b1916131f384);
}

TEST_CASE("order: repeat passes and shuffles above one another have orders of their own") {
  const auto config = config_of(shuffle_kind::full, {1000});
  auto above = config;
  above.level = 1;
  auto of = [](const order_config& x, std::uint64_t epoch, std::uint64_t pass) {
    return all_records({std::make_shared<const order_config>(x), epoch, pass});
  };
  const std::set<list> different{of(config, 0, 0), of(config, 0, 1), of(config, 1, 0),
                                 of(config, 1, 1), of(above, 0, 0),  of(above, 0, 1)};
  CHECK(different.size() == 6);
}

} // namespace leat::order_test
