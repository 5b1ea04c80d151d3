#include "runtime/storage/remote/remote_objects.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/remote/expected_reads.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <stop_token>
#include <utility>

namespace leat {

namespace {

/// The results of several fetches as one: the bytes up to the first that lacks some.
class joined_reads {
public:
  joined_reads(std::size_t count, read_done done)
      : results_(count), left_(count), done_(std::move(done)) {}

  read_done callback(std::size_t i, std::uint64_t asked) {
    results_[i].asked = asked;
    return [this, i](read_result x) {
      results_[i].is = std::move(x);
      if (--left_ == 0)
        end();
    };
  }

private:
  struct part {
    read_result is;
    std::uint64_t asked = 0;
  };

  void end() {
    const std::unique_ptr<joined_reads> self{this};
    read_result all;
    for (auto& x : results_) {
      if (x.is.failure) {
        if (all.bytes == 0)
          all.failure = std::move(x.is.failure);
        break; // the caller asks for the rest, and gets the failure then
      }
      all.bytes += x.is.bytes;
      if (x.is.bytes < x.asked)
        break;
    }
    done_(std::move(all));
  }

  std::vector<part> results_;
  std::atomic<std::size_t> left_;
  read_done done_;
};

/// Parts that follow each other in one object.
struct run_of_parts {
  std::size_t object = 0;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::vector<std::span<std::byte>> into = {};
};

std::vector<run_of_parts> runs_of(std::span<const read_part> parts) {
  std::vector<run_of_parts> runs;
  for (const auto& x : parts) {
    if (x.into.empty())
      continue;
    if (runs.empty() || runs.back().object != x.object
        || runs.back().begin + runs.back().size != x.offset)
      runs.push_back({.object = x.object, .begin = x.offset});
    runs.back().size += x.into.size();
    runs.back().into.push_back(x.into);
  }
  return runs;
}

/// Never writes more than the object has: a range that ends after it is cut.
void cut(run_of_parts& x, std::uint64_t object_bytes) {
  x.size = std::min(x.size, object_bytes - std::min(object_bytes, x.begin));
  auto left = x.size;
  for (auto& into : x.into) {
    into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left)));
    left -= into.size();
  }
}

/// `object` gives the object of a number.
template <class Object>
void begin_reads(std::vector<run_of_parts> runs, Object object, range_fetcher& by, read_done done,
                 const std::stop_token& stop, bool is_urgent) {
  if (const auto end = std::find_if(runs.begin(), runs.end(), [](auto& x) { return x.size == 0; });
      end != runs.end())
    runs.erase(end, runs.end()); // nothing after an object's end counts
  if (runs.empty())
    return done({});
  auto joined = std::make_unique<joined_reads>(runs.size(), std::move(done));
  std::vector<std::shared_ptr<range_fetch>> fetches;
  fetches.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    fetches.push_back(std::make_shared<range_fetch>(object(runs[i].object), runs[i].begin,
                                                    std::move(runs[i].into),
                                                    joined->callback(i, runs[i].size)));
    fetches.back()->is_urgent = is_urgent;
  }
  (void)joined.release(); // deletes itself with the last result
  for (auto& x : fetches)
    by.begin(std::move(x), stop);
}

/// Reads that somebody waits for, and others, begin in the same way.
class far_objects : public stored_objects {
public:
  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    begin(parts, std::move(done), stop, true);
  }
  void read_ahead(std::span<const read_part> parts, read_done done,
                  const std::stop_token& stop) override {
    begin(parts, std::move(done), stop, false);
  }

private:
  virtual void begin(std::span<const read_part> parts, read_done done, const std::stop_token& stop,
                     bool is_urgent) = 0;
};

class remote_objects final : public far_objects {
public:
  remote_objects(std::vector<std::shared_ptr<remote_object>> objects,
                 std::shared_ptr<range_fetcher> by)
      : by_(std::move(by)), objects_(std::move(objects)), states_(objects_.size()) {}
  ~remote_objects() override {
    stop_.request_stop(); // of requests that `expect_stats` began
    const mutex_lock lock{mutex_};
    while (asked_ > 0)
      came_.wait(mutex_);
  }

  std::string name(std::size_t object) const override { return objects_[object]->name(); }
  std::string place(std::size_t object) const override { return objects_[object]->url(); }

  object_version stat(std::size_t object) override {
    auto& x = *objects_[object];
    auto pin = x.pin();
    if (!pin) {
      ask(object);
      wait_for(object);
      pin = x.pin();
    }
    return {
        .size = pin->size, .mtime_ns = object_version::no_time, .tag = std::move(pin->validator)};
  }

  void expect_version(std::size_t object, const object_version& x) override {
    // It goes into the headers of requests.
    if (x.tag.empty() || has_control_character(x.tag))
      return;
    objects_[object]->learn(
        {.size = x.size, .is = kind_of_validator(x.tag), .validator = x.tag, .is_told = true});
  }

  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) override {
    if (const auto bytes = read_at_hand(parts); bytes > 0)
      return {.bytes = bytes, .failure = {}};
    return far_objects::read_here(parts, stop);
  }

  void read_ahead_if_far(const expected_range& range, read_room room, read_done done,
                         const std::stop_token& stop) override {
    by_->look_for(
        objects_[range.object], {range.offset, range.offset + range.size},
        [this, range, stop, room = std::move(room), done = std::move(done)](bool is_near) {
          if (is_near)
            return done({});
          try {
            far_objects::read_ahead_if_far(range, room, done, stop);
          } catch (...) { // no memory: whoever needs them reads them
            done({});
          }
        });
  }

  bool is_at_hand(const expected_range& x) noexcept override {
    return by_->is_open(*objects_[x.object], {x.offset, x.offset + x.size});
  }

  void expect_stats() noexcept override {
    try {
      for (std::size_t i = 0; i < objects_.size(); ++i)
        if (!objects_[i]->pin())
          ask(i);
    } catch (...) { // stat() asks, and says what is wrong
    }
  }

private:
  enum class asking : std::uint8_t { no, yes, failed };
  struct stat_state {
    asking is = asking::no;
    std::shared_ptr<const error> failure = {};
  };

  /// Reads the first parts as far as they are at hand; how many bytes that are.
  std::uint64_t read_at_hand(std::span<const read_part> parts) {
    std::uint64_t bytes = 0;
    for (const auto& x : runs_of(parts)) {
      if (!by_->read_at_hand(*objects_[x.object], x.begin, x.into))
        break;
      bytes += x.size;
    }
    return bytes;
  }

  /// Asks for the version, unless that was done before.
  void ask(std::size_t object) {
    {
      const mutex_lock lock{mutex_};
      if (states_[object].is == asking::yes)
        return;
      if (objects_[object]->pin()) { // the answer may just have come, also after a failure
        states_[object] = {};
        return;
      }
      states_[object] = {.is = asking::yes};
      ++asked_;
    }
    try {
      by_->begin(std::make_shared<range_fetch>(
                     objects_[object], 0, std::vector<std::span<std::byte>>{},
                     [this, object](read_result x) { end_ask(object, std::move(x.failure)); }),
                 stop_.get_token());
    } catch (...) {
      end_ask(object, std::make_shared<const error>(error_in_flight(errc::io, {.stage = "read"})));
      throw;
    }
  }
  void end_ask(std::size_t object, std::shared_ptr<const error> failure) {
    const mutex_lock lock{mutex_};
    states_[object] = {.is = failure ? asking::failed : asking::no, .failure = std::move(failure)};
    --asked_;
    came_.notify_all();
  }
  void wait_for(std::size_t object) {
    const mutex_lock lock{mutex_};
    while (states_[object].is == asking::yes)
      came_.wait(mutex_);
    if (states_[object].failure)
      throw error(*states_[object].failure);
  }

  void begin(std::span<const read_part> parts, read_done done, const std::stop_token& stop,
             bool is_urgent) override {
    auto runs = runs_of(parts);
    for (auto& x : runs)
      if (const auto pin = objects_[x.object]->pin())
        cut(x, pin->size);
    begin_reads(
        std::move(runs), [this](std::size_t i) { return objects_[i]; }, *by_, std::move(done), stop,
        is_urgent);
  }

  std::shared_ptr<range_fetcher> by_;
  std::vector<std::shared_ptr<remote_object>> objects_;
  std::stop_source stop_;
  mutex mutex_;
  condition_variable came_;
  std::vector<stat_state> states_ LEAT_GUARDED_BY(mutex_);
  std::size_t asked_ LEAT_GUARDED_BY(mutex_) = 0;
};

/// Objects that are known by their names and sizes alone.
class listed_objects final : public far_objects {
public:
  listed_objects(std::shared_ptr<const object_names> names, std::string stage,
                 remote_object_maker make, std::shared_ptr<range_fetcher> by)
      : names_(std::move(names)), stage_(std::move(stage)), make_(std::move(make)),
        by_(std::move(by)) {}

  std::string name(std::size_t object) const override { return names_->name(object); }
  object_version stat(std::size_t object) override {
    return {.size = names_->bytes(object), .mtime_ns = object_version::no_time};
  }

private:
  void begin(std::span<const read_part> parts, read_done done, const std::stop_token& stop,
             bool is_urgent) override {
    std::map<std::size_t, std::shared_ptr<remote_object>> objects;
    auto runs = runs_of(parts);
    for (const auto& x : runs)
      if (auto& object = objects[x.object]; !object)
        object = make_(names_->name(x.object), stage_);
    auto checked = [this, objects, done = std::move(done)](read_result x) {
      if (!x.failure)
        x.failure = size_problem(objects);
      if (x.failure)
        x.bytes = 0;
      done(std::move(x));
    };
    begin_reads(
        std::move(runs), [&](std::size_t i) { return objects.at(i); }, *by_, std::move(checked),
        stop, is_urgent);
  }

  std::shared_ptr<const error>
  size_problem(const std::map<std::size_t, std::shared_ptr<remote_object>>& objects) const {
    for (const auto& [number, x] : objects)
      if (const auto pin = x->pin(); pin && pin->size != names_->bytes(number))
        return std::make_shared<const error>(
            errc::torn_file,
            error_details{.stage = stage_,
                          .file = x->name(),
                          .got = std::to_string(pin->size) + " bytes",
                          .needed = std::to_string(names_->bytes(number)) + ", as on opening"});
    return {};
  }

  const std::shared_ptr<const object_names> names_;
  const std::string stage_;
  const remote_object_maker make_;
  const std::shared_ptr<range_fetcher> by_;
};

} // namespace

std::shared_ptr<stored_objects>
open_remote_objects(std::vector<std::shared_ptr<remote_object>> objects,
                    std::shared_ptr<range_fetcher> by) {
  return std::make_shared<expected_reads>(
      std::make_shared<remote_objects>(std::move(objects), std::move(by)), process_read_ahead());
}

std::shared_ptr<stored_objects> open_listed_objects(std::shared_ptr<const object_names> names,
                                                    std::string stage, remote_object_maker make,
                                                    std::shared_ptr<range_fetcher> by) {
  return std::make_shared<expected_reads>(
      std::make_shared<listed_objects>(std::move(names), std::move(stage), std::move(make),
                                       std::move(by)),
      process_read_ahead());
}

} // namespace leat
