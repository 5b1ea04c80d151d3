#include "tests/gpu/contents.hpp"

#include "tests/gpu/batch_copies.hpp"
#include "tests/gpu/report.hpp"

#include <leat/leat.hpp>
#include <leat/notice.hpp>

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace leat::gpu_check {

namespace {

constexpr std::uint64_t records = 500;
constexpr const char* gpu_name = "cuda:0";
/// Enough for the next copies to be issued, and done, if nothing made them wait.
constexpr std::uint64_t longest_delay = 2'000'000;

template <class T>
void fill(std::span<T> x, rng& from) {
  for (auto& value : x) {
    const auto bits = from.bits64();
    std::memcpy(&value, &bits, sizeof value);
  }
}

/// Fields of all kinds, of sizes that fill no word and no page, with random bits.
pipeline made(std::uint64_t rows, batch_options options = {}) {
  return count(records)
      .shuffle({.seed = 11})
      .map("fields@1",
           [](sample& x, context& c) {
             auto& random = c.rng();
             fill(x.make<float>("image", {3, 37, 41}), random);
             fill(x.make<std::uint8_t>("pixels", {7, 5, 3}), random);
             x.set("label", static_cast<std::int64_t>(random.bits64()));
             fill(x.make_ragged<std::int32_t>("tokens", random.below(300)), random);
             fill(x.make_ragged<float>("boxes", random.below(9), {4}), random);
             x.set("note", "of length " + std::to_string(random.below(1000)));
           })
      .batch(rows, std::move(options));
}

std::size_t bytes_of_batches(std::uint64_t rows, std::uint64_t batches) {
  return batches * (rows * (3 * 37 * 41 * 4 + 105 + 8 + 300 * 4 + 9 * 16 + 16) + 4096);
}

loader_options with_gpu(loader_options options = {}) {
  options.device = gpu_name;
  options.epochs = 100;
  return options;
}

/// Streams of a trainer, some of which stand still for a while before they read.
class streams {
public:
  streams(const driver& gpu, std::size_t n) : gpu_(gpu) {
    for (std::size_t i = 0; i < n; ++i)
      all_.push_back(gpu.make_stream());
  }
  ~streams() {
    for (auto* x : all_)
      gpu_.end_stream(x);
  }
  streams(const streams&) = delete;
  streams& operator=(const streams&) = delete;

  driver::stream next() {
    auto* result = all_[turn_++ % all_.size()];
    gpu_.delay(result, random_() % longest_delay);
    return result;
  }
  void finish() const {
    for (auto* x : all_)
      gpu_.finish(x);
  }

private:
  const driver& gpu_;
  std::vector<driver::stream> all_;
  std::size_t turn_ = 0;
  std::mt19937_64 random_{7};
};

/// A thread that is given leases one by one, and has at most two.
class lease_thread {
public:
  explicit lease_thread(std::function<void(lease)> use)
      : thread_([this, use = std::move(use)] {
          while (auto x = take()) {
            use(std::move(x));
            done();
          }
        }) {}
  ~lease_thread() {
    give({});
    thread_.join();
  }
  lease_thread(const lease_thread&) = delete;
  lease_thread& operator=(const lease_thread&) = delete;

  /// An empty one ends it.
  void give(lease x) {
    {
      std::unique_lock lock{mutex_};
      few_.wait(lock, [this] { return out_ < 2; });
      given_.push_back(std::move(x));
      ++out_;
    }
    some_.notify_one();
  }

private:
  void done() {
    {
      const std::lock_guard lock{mutex_};
      --out_;
    }
    few_.notify_one();
  }
  lease take() {
    std::unique_lock lock{mutex_};
    some_.wait(lock, [this] { return !given_.empty(); });
    auto result = std::move(given_.front());
    given_.pop_front();
    return result;
  }

  std::mutex mutex_;
  std::condition_variable some_;
  std::condition_variable few_;
  std::deque<lease> given_;
  std::size_t out_ = 0;
  std::thread thread_;
};

/// A way in which a trainer uses batches.
struct way {
  const driver& gpu;
  std::uint64_t batches;

  comparison dropped_at_once(std::uint64_t rows, std::size_t num_streams, loader_options options,
                             batch_options of_batch = {}) const {
    loader from{made(rows, std::move(of_batch)), with_gpu(std::move(options))};
    batch_copies copies{gpu, bytes_of_batches(rows, batches)};
    streams in{gpu, num_streams};
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto x = from.next();
      auto* stream = in.next();
      x.on_device(stream);
      copies.take(*x, stream);
    }
    in.finish();
    return copies.compare();
  }

  comparison dropped_late() const {
    loader from{made(16), with_gpu({.workers = 2, .leases = 4})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 3};
    std::vector<lease> held;
    std::mt19937 random{3};
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto x = from.next();
      auto* stream = in.next();
      x.on_device(stream);
      copies.take(*x, stream);
      held.push_back(std::move(x));
      if (held.size() == 4)
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
    }
    held.clear();
    in.finish();
    return copies.compare();
  }

  /// The stream that waits for the batch is not the one that reads it.
  comparison used_on_another_stream() const {
    loader from{made(16), with_gpu({.workers = 2})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams first{gpu, 1};
    streams in{gpu, 2};
    auto* there = gpu.make_event();
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto x = from.next();
      auto* waits = first.next();
      x.on_device(waits);
      gpu.record(there, waits);
      auto* reads = in.next();
      gpu.wait(reads, there);
      x.used_on(reads);
      copies.take(*x, reads);
    }
    first.finish();
    in.finish();
    gpu.end_event(there);
    return copies.compare();
  }

  comparison used_in_another_thread() const {
    loader from{made(16), with_gpu({.workers = 2, .leases = 3})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    {
      bool has_entered = false;
      lease_thread other{[&](lease x) {
        if (!std::exchange(has_entered, true))
          gpu.enter();
        auto* stream = in.next();
        x.on_device(stream);
        copies.take(*x, stream);
      }};
      for (std::uint64_t i = 0; i < batches; ++i)
        other.give(from.next());
    }
    in.finish();
    return copies.compare();
  }

  comparison dropped_in_another_thread() const {
    loader from{made(16), with_gpu({.workers = 2, .leases = 3})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    {
      lease_thread other{[](lease) {}}; // which has never called the driver
      for (std::uint64_t i = 0; i < batches; ++i) {
        auto x = from.next();
        auto* stream = in.next();
        x.on_device(stream);
        copies.take(*x, stream);
        other.give(std::move(x));
      }
    }
    in.finish();
    return copies.compare();
  }

  comparison in_streams_that_nobody_names() const {
    loader from{made(16), with_gpu({.workers = 2})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto x = from.next();
      x.on_device_for_all();
      copies.take(*x, in.next());
    }
    in.finish();
    return copies.compare();
  }

  comparison rewound() const {
    loader from{made(16), with_gpu({.workers = 2})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    lease held;
    for (std::uint64_t i = 0; i < batches; ++i) {
      if (i % 7 == 6)
        from.rewind();
      else if (i % 5 == 4)
        from.abandon_epoch();
      auto x = from.next();
      auto* stream = in.next();
      x.on_device(stream);
      copies.take(*x, stream);
      held = std::move(x);
    }
    held.reset();
    in.finish();
    return copies.compare();
  }

  /// Batches that are taken and never used.
  comparison some_not_used() const {
    loader from{made(16), with_gpu({.workers = 2})};
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    for (std::uint64_t i = 0; i < batches; ++i) {
      auto x = from.next();
      if (i % 3 == 0)
        continue;
      auto* stream = in.next();
      x.on_device(stream);
      copies.take(*x, stream);
    }
    in.finish();
    return copies.compare();
  }

  comparison of_two_loaders() const {
    loader first{made(16), with_gpu({.workers = 2})};
    loader second{made(5), with_gpu({.workers = 1})};
    batch_copies copies{gpu, 2 * bytes_of_batches(16, batches)};
    streams in{gpu, 3};
    for (std::uint64_t i = 0; i < batches; ++i)
      for (auto* from : {&first, &second}) {
        auto x = from->next();
        auto* stream = in.next();
        x.on_device(stream);
        copies.take(*x, stream);
      }
    in.finish();
    return copies.compare();
  }

  /// The loader ends while its batches are used.
  comparison after_the_loader() const {
    batch_copies copies{gpu, bytes_of_batches(16, batches)};
    streams in{gpu, 2};
    for (std::uint64_t i = 0; i < batches; i += 2) {
      std::array<lease, 2> held;
      {
        loader from{made(16), with_gpu({.workers = 1})};
        for (auto& x : held)
          x = from.next();
        auto* stream = in.next();
        held[0].on_device(stream);
        copies.take(*held[0], stream);
      }
      auto* stream = in.next();
      held[1].on_device(stream);
      copies.take(*held[1], stream);
    }
    in.finish();
    return copies.compare();
  }
};

void report_comparison(const std::string& check, const std::function<comparison()>& run) {
  try {
    const auto x = run();
    report({.check = "contents: " + check,
            .wanted = "0 wrong",
            .found = std::to_string(x.wrong) + " wrong of " + std::to_string(x.fields)
                     + " fields in " + std::to_string(x.batches) + " batches"
                     + (x.wrong == 0 ? "" : ", first " + x.first_wrong),
            .is_good = x.wrong == 0 && x.fields > 0});
  } catch (const std::exception& e) {
    report(
        {.check = "contents: " + check, .wanted = "0 wrong", .found = e.what(), .is_good = false});
  }
}

struct named_way {
  std::string name;
  std::function<comparison()> run;
};

std::vector<named_way> ways(const driver& gpu, std::uint64_t batches) {
  const way x{gpu, batches};
  return {
      {"one stream, dropped at once", [x] { return x.dropped_at_once(16, 1, {.workers = 2}); }},
      {"three streams in turn, dropped at once",
       [x] { return x.dropped_at_once(16, 3, {.workers = 2}); }},
      {"three streams, dropped late and out of order", [x] { return x.dropped_late(); }},
      {"used_on a second stream", [x] { return x.used_on_another_stream(); }},
      {"used in another thread", [x] { return x.used_in_another_thread(); }},
      {"dropped in another thread", [x] { return x.dropped_in_another_thread(); }},
      {"streams that nobody names", [x] { return x.in_streams_that_nobody_names(); }},
      {"rewinds and epochs that are left", [x] { return x.rewound(); }},
      {"some batches not used", [x] { return x.some_not_used(); }},
      {"two loaders", [x] { return x.of_two_loaders(); }},
      {"leases after their loader", [x] { return x.after_the_loader(); }},
      {"no workers", [x] { return x.dropped_at_once(16, 2, {.workers = 0}); }},
      {"rank 1 of 3, with rows that are not valid",
       [x] {
         return x.dropped_at_once(21, 2, {.rank = 1, .world_size = 3, .workers = 2},
                                  {.end = epoch_end::mask});
       }},
      {"batches of one row", [x] { return x.dropped_at_once(1, 2, {.workers = 2}); }},
  };
}

} // namespace

void check_contents(const driver& gpu, std::uint64_t batches) {
  if (!gpu.can_delay())
    report_skipped("contents: streams that stand still", "the driver compiles no kernel for that");
  for (const auto& [name, run] : ways(gpu, batches))
    report_comparison(name, run);
}

void check_digests(std::uint64_t batches) {
  struct told {
    std::vector<hash128> digests;
    std::vector<std::string> snapshots;
  };
  const auto run = [&](const std::string& device) {
    loader from{made(16), {.workers = 2, .epochs = 100, .device = device}};
    told result;
    for (std::uint64_t i = 0; i < batches; ++i) {
      const auto x = from.next();
      result.digests.push_back(x->digest());
      if (i % 8 == 0)
        result.snapshots.push_back(x->snapshot());
    }
    result.digests.push_back(from.position().digest);
    return result;
  };
  const auto with = run(gpu_name);
  const auto without = run("cpu");
  report({.check = "digests of batches and of the run, with the device and without",
          .wanted = "equal",
          .found = with.digests == without.digests ? "equal" : "different",
          .is_good = with.digests == without.digests});
  report({.check = "snapshots, with the device and without",
          .wanted = "equal",
          .found = with.snapshots == without.snapshots ? "equal" : "different",
          .is_good = with.snapshots == without.snapshots});
}

void check_refusals() {
  try {
    loader from{made(16), {.workers = 1, .device = "cuda:99"}};
    from.next();
    report({.check = "device cuda:99", .wanted = "refused", .found = "taken", .is_good = false});
  } catch (const error& e) {
    report({.check = "device cuda:99", .wanted = "refused", .found = e.what(), .is_good = true});
  }
}

void check_unpinned(const driver& gpu, std::uint64_t batches) {
  std::vector<std::string> notices;
  std::mutex mutex;
  set_notice_handler([&](const std::string& text) {
    const std::lock_guard lock{mutex};
    notices.push_back(text);
  });
  std::optional<device_stats> told;
  {
    loader from{made(16), with_gpu({.workers = 2})};
    from.next();
    told = from.stats().device;
  }
  report_comparison("in all these ways, with slots as they are pinned here", [&] {
    comparison sum;
    for (const auto& x : ways(gpu, batches))
      sum += x.run();
    return sum;
  });
  set_notice_handler({});
  const bool is_pinned = told && told->is_pinned;
  report({.check = "slots are pinned here", .found = is_pinned ? "yes" : "no"});
  report({.check = "a notice where they are not",
          .wanted = is_pinned ? "none" : "some",
          .found = notices.empty() ? "none" : notices[0],
          .is_good = notices.empty() == is_pinned});
}

} // namespace leat::gpu_check
