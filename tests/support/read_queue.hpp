#pragma once

#include "runtime/sources/feed/inputs/feed_input_of.hpp"
#include "tests/support/random_faults.hpp"
#include "tests/support/test.hpp"

#include <condition_variable>
#include <mutex>

namespace leat::test {

/// What a feed's journal has of a queue, which is read again and again.
class read_queue {
public:
  explicit read_queue(std::string url) : url_(std::move(url)) { open(); }
  ~read_queue() { close(); }
  read_queue(const read_queue&) = delete;
  read_queue& operator=(const read_queue&) = delete;

  /// Reads in a thread of its own, after the last record.
  void open() { begin(places_.empty() ? "" : places_.back()); }
  void close() {
    if (!reader_)
      return;
    reader_->interrupt();
    thread_.join();
    reader_.reset();
  }
  /// As a feed without a journal does when it begins again: all that is not acknowledged comes
  /// again.
  void open_without_journal() {
    places_.resize(acknowledged_);
    contents_.resize(acknowledged_);
    begin("");
  }

  /// Waits for so many records. False if reading has ended before.
  bool wait_for(std::size_t records) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock,
                  [&] { return places_.size() >= records || !failure_.empty() || has_ended_; });
    return places_.size() >= records;
  }
  std::string wait_for_failure() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return !failure_.empty() || has_ended_; });
    return failure_;
  }
  void acknowledge(std::size_t records) {
    std::vector<std::string> some;
    {
      const std::lock_guard lock{mutex_};
      records = std::clamp(records, acknowledged_, places_.size());
      some.assign(places_.begin() + static_cast<std::ptrdiff_t>(acknowledged_),
                  places_.begin() + static_cast<std::ptrdiff_t>(records));
    }
    reader_->acknowledge(some);
    acknowledged_ = records;
  }
  std::vector<std::string> contents() {
    const std::lock_guard lock{mutex_};
    return contents_;
  }
  std::string last_place() {
    const std::lock_guard lock{mutex_};
    return places_.back();
  }

private:
  void begin(const std::string& last) {
    failure_.clear();
    has_ended_ = false;
    input_ = feed_input_of(url_, [](const char*) { return std::string{}; });
    reader_ = input_->begin(last);
    thread_ = std::thread{[this] { read(); }};
  }
  void read() {
    try {
      while (reader_->take([this](const placed_record& x) {
        const std::lock_guard lock{mutex_};
        places_.emplace_back(x.place);
        contents_.emplace_back(x.content);
        changed_.notify_all();
      })) {
      }
    } catch (const error& x) {
      const std::lock_guard lock{mutex_};
      failure_ = x.what();
    }
    const std::lock_guard lock{mutex_};
    has_ended_ = true;
    changed_.notify_all();
  }

  const std::string url_;
  std::shared_ptr<feed_input> input_;
  std::unique_ptr<feed_reader> reader_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> places_;
  std::vector<std::string> contents_;
  std::string failure_;
  bool has_ended_ = false;
  std::size_t acknowledged_ = 0;
};

/// Adds records, kills the server, ends and begins the reader, with its journal and without, and
/// acknowledges, in a random order. What was read is what was added.
template <class Server, class Add>
void read_through_faults(Server& server, const std::string& url, Add add, std::uint64_t seed,
                         bool has_kills = true, bool has_journal = false) {
  INFO("seed " << seed);
  dice random{seed};
  std::vector<std::string> added;
  read_queue queue{url};
  for (int step = 0; step < 40; ++step) {
    const auto n = 1 + random.below(random.happens(20) ? 2000 : 20);
    std::vector<std::string> some;
    for (std::uint64_t i = 0; i < n; ++i)
      some.push_back("record " + std::to_string(added.size() + i)
                     + std::string(random.below(300), 'x'));
    add(some);
    added.insert(added.end(), some.begin(), some.end());
    const auto what = random.below(6);
    if (what == 0 && has_kills) {
      server.kill();
      server.start();
    } else if (what == 1) {
      queue.close();
      queue.open();
    } else if (what == 2 && !has_journal) {
      queue.close();
      queue.open_without_journal();
    } else if (what == 3) {
      REQUIRE(queue.wait_for(random.below(added.size() + 1)));
      queue.acknowledge(random.below(added.size() + 1));
    }
  }
  const bool has_all = queue.wait_for(added.size());
  if (!has_all)
    FAIL(queue.wait_for_failure());
  queue.acknowledge(added.size());
  queue.close();
  if (has_journal)
    queue.open();
  else
    queue.open_without_journal();
  add(std::vector<std::string>{"the last one"});
  added.emplace_back("the last one");
  REQUIRE(queue.wait_for(added.size()));
  const auto got = queue.contents();
  CHECK(got.size() == added.size());
  const auto differs = std::mismatch(got.begin(), got.end(), added.begin(), added.end());
  if (differs.first != got.end() && differs.second != added.end())
    FAIL("record " << differs.first - got.begin() << " is " << *differs.first << ", not "
                   << *differs.second);
}

} // namespace leat::test
