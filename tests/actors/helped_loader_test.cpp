#include "tests/support/files.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::helped_loader_test {
namespace {

using test::temporary_directory;

map_stage slow_map() {
  return {.name = "helped_slow@1", .make = [] {
            return [](sample& x, context& c) {
              std::this_thread::sleep_for(std::chrono::milliseconds{1});
              x.set("number", static_cast<std::int64_t>(c.rng()() % 1'000'000));
              x.set("text", x.id());
            };
          }};
}

/// Records of four bytes; some are passed over by a filter, which workers and helpers probe.
pipeline data_in(const temporary_directory& in, bool is_indexed) {
  register_map("helped_slow@1", [](const std::string&) { return slow_map(); });
  register_predicate("helped_some@1", [](const std::string&) {
    return filter_stage{.name = "helped_some@1", .make = [] {
                          return [](sample& x) {
                            return std::to_integer<unsigned>(x.bytes("value")[0]) % 4 != 0;
                          };
                        }};
  });
  std::string bytes;
  for (int i = 0; i < 240; ++i)
    bytes += {static_cast<char>(i), 'a', 'b', 'c'};
  test::write_content(in / "a.raw", bytes);
  const auto records = raw_records(in / "a.raw", dtype::u8, {4}).shuffle({.seed = 2});
  if (is_indexed)
    return records.map(slow_map()).batch(16);
  return records
      .filter({.name = "helped_some@1",
               .make =
                   [] {
                     return [](sample& x) {
                       return std::to_integer<unsigned>(x.bytes("value")[0]) % 4 != 0;
                     };
                   }})
      .shuffle_buffer(20, 3)
      .map(slow_map())
      .batch(16, {.lanes = 1, .end = epoch_end::drop});
}

loader_options options(std::size_t workers, const std::string& workers_at) {
  loader_options x;
  x.workers = workers;
  x.epochs = 3;
  x.hash_pixels = true;
  x.workers_at = workers_at;
  return x;
}

/// Digest and pixels of each batch.
using batches = std::vector<std::pair<hash128, std::vector<hash128>>>;

template <class Then>
batches batches_of(loader& from, Then then) {
  batches all;
  while (const auto batch = from.next()) {
    const auto hashes = batch->content_hashes();
    all.emplace_back(batch->digest(), std::vector<hash128>{hashes.begin(), hashes.end()});
    then(all.size());
  }
  return all;
}

batches without_helpers(const pipeline& data) {
  loader alone{data, options(0, "")};
  return batches_of(alone, [](std::size_t) {});
}

/// A helper in threads of this process, as long as it lives.
class helper {
public:
  helper(const std::string& join, const std::vector<std::string>& data) {
    const worker_options x{.join = join,
                           .cores = 1,
                           .data = data,
                           .stop = stop_.get_token(),
                           .log = [](const std::string&) {}};
    thread_ = std::thread{[x] { run_worker(x); }};
  }
  ~helper() {
    stop_.request_stop();
    thread_.join();
  }

private:
  std::stop_source stop_;
  std::thread thread_;
};

/// Where a loader that has begun says that helpers join.
std::string place_in(heard_notices& notices) {
  const std::string before = "helpers join at ";
  notices.wait(before);
  for (const auto& text : notices.texts())
    if (const auto at = text.find(before); at != text.npos)
      return text.substr(at + before.size());
  return {};
}

TEST_CASE("a loader with helpers that come and vanish hands over the batches of one without any") {
  const temporary_directory in;
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  for (const bool is_indexed : {true, false})
    for (const bool has_data : {true, false}) {
      CAPTURE(is_indexed, has_data);
      const auto data = data_in(in, is_indexed);
      heard_notices notices;
      loader helped{data, options(1, "127.0.0.1:0")};
      std::vector<std::unique_ptr<helper>> helpers(2);
      std::string place;
      const auto made = batches_of(helped, [&](std::size_t n) {
        if (place.empty())
          place = place_in(notices);
        auto& one = helpers[n == 1 ? 0 : chance() % helpers.size()];
        if (n == 1 || (n > 3 && chance() % 3 == 0))
          one = one ? nullptr
                    : std::make_unique<helper>(place, has_data ? std::vector{in.path()}
                                                               : std::vector<std::string>{});
        while (n == 1 && helped.stats().helped->helpers == 0) // it has some of the next rows
          std::this_thread::yield();
      });
      REQUIRE(made == without_helpers(data));
      REQUIRE(helped.stats().helped->rows_received > 0);
    }
}

TEST_CASE("helpers are sent of rows what the loader is told to, and make the same batches") {
  const temporary_directory in;
  const auto data = data_in(in, true);
  for (const std::string lend : {"items", "records"}) {
    CAPTURE(lend);
    heard_notices notices;
    auto how = options(1, "127.0.0.1:0");
    how.helpers = helper_access{.lend = lend};
    loader helped{data, how};
    std::unique_ptr<helper> one;
    const auto made = batches_of(helped, [&](std::size_t n) {
      if (n == 1)
        one = std::make_unique<helper>(place_in(notices), std::vector{in.path()});
      while (n == 1 && helped.stats().helped->helpers == 0)
        std::this_thread::yield();
    });
    REQUIRE(made == without_helpers(data));
    REQUIRE(helped.stats().helped->rows_received > 0);
    REQUIRE(helped.stats().helped->not_lent.empty());
  }
  heard_notices notices;
  auto how = options(1, "127.0.0.1:0");
  how.helpers = helper_access{.lend = "none"};
  loader alone{data, how};
  REQUIRE(batches_of(alone, [](std::size_t) {}) == without_helpers(data));
  REQUIRE_FALSE(alone.stats().helped);
}

TEST_CASE("a loader may end with helpers at work, and another one begin at once") {
  const temporary_directory in;
  const auto data = data_in(in, true);
  for (int i = 0; i < 3; ++i) {
    heard_notices notices;
    std::unique_ptr<helper> one;
    loader helped{data, options(1, "127.0.0.1:0")};
    REQUIRE(helped.next());
    one = std::make_unique<helper>(place_in(notices), std::vector<std::string>{});
    while (helped.stats().helped->helpers == 0)
      std::this_thread::yield();
    REQUIRE(helped.next());
  }
}

TEST_CASE(
    "helpers are refused where no worker would be left, or rows have their workers or pixels") {
  const auto data = count(9).batch(3);
  auto none = options(0, "127.0.0.1:0");
  REQUIRE(has(thrown_by([&] { loader{data, none}; }).what(), "workers_at"));
  auto fixed = options(1, "127.0.0.1:0");
  fixed.dispatch = dispatch_policy::round_robin;
  REQUIRE(has(thrown_by([&] { loader{data, fixed}; }).what(), "on_demand"));
  auto decoded = options(1, "127.0.0.1:0");
  decoded.device = "cuda";
  decoded.decoder = "nvjpeg";
  REQUIRE(has(thrown_by([&] { loader{data, decoded}; }).what(), "workers_at"));
  REQUIRE(thrown_by([&] { loader{data, options(1, "nowhere")}; }).code() == errc::invalid_argument);
  auto unknown = options(1, "127.0.0.1:0");
  unknown.helpers = helper_access{.lend = "all"};
  REQUIRE(has(thrown_by([&] { loader{data, unknown}; }).what(), "helpers.lend"));
}

} // namespace
} // namespace leat::helped_loader_test
