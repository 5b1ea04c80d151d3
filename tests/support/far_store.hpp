#pragma once

#include "runtime/storage/file_set.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/read_now.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat::test {

/// Local files, to be read from a store.
inline file_set files_in(const object_store& store, const std::string& pattern) {
  auto files = find_files({pattern}, "test");
  files.store = &store;
  return files;
}

/// Serves local files as a slow server would: reads end in another thread, in any order and in
/// pieces, and some fail. At most `limit` are in flight at a time. A seed and the order of the
/// calls determine what it does.
class far_store final : public object_store {
public:
  struct settings {
    std::uint64_t seed = 1;
    std::size_t limit = 4;
    /// One read in this many ends early; 0: none.
    unsigned one_short_in = 2;
    /// The failure of a read, if it fails.
    std::function<std::optional<error>(const std::string& name, std::uint64_t offset)> fail = {};
  };

  explicit far_store(settings x) : net_(std::make_shared<network>(std::move(x))) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    // Versions come with the listing, as from an object store.
    local_store().list(folder, [&](listed_object x) {
      if (x.is == object_kind::plain)
        x.version = local_store().stat(folder + "/" + x.name).version;
      each(std::move(x));
    });
  }
  object_stat stat(const std::string& name) const override { return local_store().stat(name); }
  std::shared_ptr<stored_objects> open(std::vector<std::string> names,
                                       read_pattern = read_pattern::normal) const override {
    return std::make_shared<far_objects>(net_, local_store().open(std::move(names)));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return std::make_shared<far_objects>(net_,
                                         local_store().open(std::move(names), std::move(stage)));
  }

  /// After this many reads nothing more arrives until `release`; but stopped reads end.
  void hold_after(std::uint64_t reads) { net_->allow(reads); }
  void release() { net_->allow(std::numeric_limits<std::uint64_t>::max()); }
  /// Waits until this many reads have been requested and have not ended.
  void wait_for_reads(std::size_t n) const { net_->wait_for_reads(n); }

  struct counts {
    /// Most reads that were in flight at a time.
    std::size_t under_way = 0;
    std::uint64_t ended = 0;
    std::uint64_t cut_short = 0;
    /// Reads that ended before one that was requested earlier.
    std::uint64_t overtaken = 0;
  };
  counts seen() const { return net_->seen(); }

private:
  struct request {
    std::shared_ptr<stored_objects> from;
    std::vector<read_part> parts;
    read_done done;
    std::uint64_t number = 0;
    bool stopped = false;
    std::optional<std::stop_callback<std::function<void()>>> on_stop = {};
  };

  class network {
  public:
    explicit network(settings x)
        : how_(std::move(x)), random_(how_.seed), thread_([this] { run(); }) {}
    ~network() {
      change([this] { ending_ = true; });
      thread_.join();
    }
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    void ask(const std::shared_ptr<request>& x, const std::stop_token& stop) {
      change([&] {
        x->number = next_++;
        asked_.push_back(x);
      });
      if (!stop.stop_possible())
        return;
      // Without the lock, as the callback may run at once. The request may have ended by then.
      x->on_stop.emplace(stop, [this, weak = std::weak_ptr<request>(x)] {
        if (const auto which = weak.lock())
          change([&] { which->stopped = true; });
      });
    }
    void allow(std::uint64_t reads) {
      change([&] { allowed_ = reads; });
    }
    void wait_for_reads(std::size_t n) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return asked_.size() >= n; });
    }
    counts seen() {
      const std::lock_guard lock{mutex_};
      return seen_;
    }

  private:
    template <class Function>
    void change(Function how) {
      {
        const std::lock_guard lock{mutex_};
        how();
      }
      changed_.notify_all();
    }

    void run() {
      std::unique_lock lock{mutex_};
      for (;;) {
        std::shared_ptr<request> x;
        changed_.wait(lock, [&] {
          x = take();
          return x || (ending_ && asked_.empty());
        });
        if (!x)
          return;
        const auto draw = random_();
        const bool is_stopped = x->stopped;
        lock.unlock();
        auto result = is_stopped ? stopped(*x) : answer(*x, draw);
        {
          const std::lock_guard counting{mutex_}; // before the reader can check the counts
          ++seen_.ended;
        }
        x->done(std::move(result));
        x.reset();
        lock.lock();
        changed_.notify_all();
      }
    }

    /// Called with the lock held: returns a read that ends now. The first `limit` are in flight.
    std::shared_ptr<request> take() {
      auto chosen = std::find_if(asked_.begin(), asked_.end(), [](auto& x) { return x->stopped; });
      const auto under_way = std::min(asked_.size(), how_.limit);
      seen_.under_way = std::max(seen_.under_way, under_way);
      if (chosen == asked_.end()) {
        if (under_way == 0 || (allowed_ == 0 && !ending_))
          return {};
        chosen = asked_.begin() + static_cast<std::ptrdiff_t>(random_() % under_way);
        allowed_ -= allowed_ == 0 ? 0 : 1;
      }
      seen_.overtaken += chosen != asked_.begin();
      auto x = *chosen;
      asked_.erase(chosen);
      return x;
    }

    read_result stopped(const request& x) const {
      return {.bytes = 0,
              .failure = std::make_shared<const error>(
                  errc::io, error_details{.stage = "read",
                                          .file = x.from->name(x.parts.front().object),
                                          .offset = x.parts.front().offset,
                                          .got = "a read that was stopped"})};
    }

    read_result answer(const request& x, std::uint64_t draw) {
      const auto& first = x.parts.front();
      const auto name = x.from->name(first.object);
      if (auto failure = how_.fail ? how_.fail(name, first.offset) : std::nullopt)
        return {.bytes = 0, .failure = std::make_shared<const error>(*failure)};
      std::uint64_t most = 0;
      for (const auto& part : x.parts)
        most += part.into.size();
      if (how_.one_short_in > 0 && draw % how_.one_short_in == 0 && most > 1) {
        most = 1 + (draw >> 8) % (most - 1);
        const std::lock_guard lock{mutex_};
        ++seen_.cut_short;
      }
      return read(x, most);
    }

    static read_result read(const request& x, std::uint64_t most) {
      read_result result;
      try {
        for (const auto& part : x.parts) {
          const auto want = std::min<std::uint64_t>(part.into.size(), most - result.bytes);
          const auto got = read_most(*x.from, part.object, part.offset,
                                     part.into.first(static_cast<std::size_t>(want)));
          result.bytes += got;
          if (got < part.into.size())
            break;
        }
      } catch (const error& problem) {
        result.failure = std::make_shared<const error>(problem);
      }
      return result;
    }

    const settings how_;
    std::mutex mutex_;
    std::condition_variable changed_;
    // Guarded by `mutex_`:
    std::mt19937_64 random_;
    /// In the order of the calls.
    std::vector<std::shared_ptr<request>> asked_;
    std::uint64_t next_ = 0;
    std::uint64_t allowed_ = std::numeric_limits<std::uint64_t>::max();
    bool ending_ = false;
    counts seen_;
    std::thread thread_;
  };

  class far_objects final : public stored_objects {
  public:
    far_objects(std::shared_ptr<network> net, std::shared_ptr<stored_objects> local)
        : net_(std::move(net)), local_(std::move(local)) {}

    std::string name(std::size_t object) const override { return local_->name(object); }
    object_version stat(std::size_t object) override { return local_->stat(object); }
    void read(std::span<const read_part> parts, read_done done,
              const std::stop_token& stop) override {
      auto x = std::make_shared<request>();
      x->from = local_;
      x->parts.assign(parts.begin(), parts.end());
      x->done = std::move(done);
      net_->ask(x, stop);
    }

  private:
    std::shared_ptr<network> net_;
    std::shared_ptr<stored_objects> local_;
  };

  std::shared_ptr<network> net_;
};

} // namespace leat::test
