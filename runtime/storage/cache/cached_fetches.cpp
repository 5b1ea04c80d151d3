#include "runtime/storage/cache/cached_fetches.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/cache/block_jobs.hpp"
#include "runtime/storage/cache/open_blocks.hpp"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// They wait for a disk most of the time, or copy from memory.
constexpr std::size_t threads_of_disk = 4;
/// What goes to several places is read as one, and copied, up to so many bytes.
constexpr std::size_t most_gathered = std::size_t{1} << 20;

} // namespace

class cached_fetches::core : leat::not_copied {
public:
  core(std::shared_ptr<range_fetcher> from, const cache_settings& how,
       std::shared_ptr<cache_counts> counted)
      : counts(std::move(counted)), from_(std::move(from)), directory_(how), open_(directory_),
        disk_(threads_of_disk), jobs_(from_, directory_, disk_, *counts, how.patience) {}
  /// Searches of reads that were stopped may still be under way.
  ~core() {
    const mutex_lock lock{mutex_};
    while (searches_ > 0)
      all_ended_.wait(mutex_);
  }

  void begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) {
    if (x->takes_whole())
      return from_->begin(std::move(x), stop);
    const auto pin = x->object().pin();
    if (!pin || x->learns_only())
      return learn(x, stop);
    search(std::move(x), *pin, stop);
  }

  bool read_at_hand(const remote_object& x, std::uint64_t begin,
                    std::span<const std::span<std::byte>> into) {
    const auto known = x.named_by(block_key);
    if (!known)
      return false;
    directory_.space().uses(known->key);
    if (into.size() == 1)
      return read_at_hand(known->key, known->size, begin, into.front());
    std::size_t size = 0;
    for (const auto& part : into)
      size += part.size();
    if (size > most_gathered)
      return false;
    std::vector<std::byte> all(size);
    if (!read_at_hand(known->key, known->size, begin, all))
      return false;
    auto from = all.begin();
    for (const auto& part : into) {
      const auto end = from + static_cast<std::ptrdiff_t>(part.size());
      std::copy(from, end, part.begin());
      from = end;
    }
    return true;
  }

  bool is_open(const remote_object& x, const byte_range& range) {
    const auto known = x.named_by(block_key);
    return known
           && are_all(*known, range, [&](const block_id& id, auto...) { return open_.has(id); });
  }

  void look_for(const std::shared_ptr<remote_object>& x, const byte_range& range,
                const std::function<void(bool)>& then) {
    const auto known = x->named_by(block_key);
    if (!known)
      return then(false);
    begin_search();
    try {
      disk_.add(
          [this, known, range, then](disk_tasks::scratch&) {
            then(is_here(*known, range));
            end_search();
          },
          false);
    } catch (...) { // no memory
      end_search();
      throw;
    }
  }
  void set_limit(std::uint64_t bytes) { directory_.space().set_limit(checked_cache_limit(bytes)); }

  const std::shared_ptr<cache_counts> counts;
  const transfer_counts& requests() const noexcept { return from_->counts(); }

private:
  /// Fetches that wait for an object's version, and end with the same stop.
  struct learning {
    std::stop_token stop;
    std::vector<std::shared_ptr<range_fetch>> waiting;
  };

  /// Asks for the version first, once for all who need it: it says which blocks are the object's.
  void learn(const std::shared_ptr<range_fetch>& x, const std::stop_token& stop) {
    const auto object = x->shared_object();
    auto made = std::make_shared<learning>(learning{stop, {x}});
    {
      const mutex_lock lock{mutex_};
      auto [at, end] = learning_.equal_range(object.get());
      for (; at != end; ++at)
        if (at->second->stop == stop)
          return at->second->waiting.push_back(x);
      learning_.emplace(object.get(), made);
    }
    auto asks = std::make_shared<range_fetch>(object, 0, std::vector<std::span<std::byte>>{},
                                              [this, object, made](const read_result& result) {
                                                end_learning(*object, *made, result.failure);
                                              });
    asks->is_urgent = x->is_urgent;
    try {
      from_->begin(std::move(asks), stop);
    } catch (...) { // no memory; others may wait by now
      end_learning(*object, *made, failure_of(*object));
    }
  }
  static std::shared_ptr<const error> failure_of(const remote_object& x) {
    return std::make_shared<const error>(
        error_in_flight(errc::io, {.stage = "read", .file = x.name()}));
  }
  void end_learning(const remote_object& object, learning& x,
                    const std::shared_ptr<const error>& failure) {
    {
      const mutex_lock lock{mutex_};
      auto [at, end] = learning_.equal_range(&object);
      while (at != end && at->second.get() != &x)
        ++at;
      if (at != end)
        learning_.erase(at);
    }
    for (const auto& fetch : x.waiting)
      try {
        know(fetch, failure, x.stop);
      } catch (const std::exception&) {
        fetch->fail(errc::no_resources, "no more memory",
                    "a machine, or limits of the process, that have more");
      }
  }
  void know(const std::shared_ptr<range_fetch>& x, const std::shared_ptr<const error>& failure,
            const std::stop_token& stop) {
    const auto pin = x->object().pin();
    if (failure)
      return fail_like(*x, *failure);
    if (!x->learns_only() && pin)
      return search(x, *pin, stop);
    if (const auto key = pin ? key_of(x->object(), *pin) : std::nullopt)
      directory_.space().uses(*key);
    x->succeed();
  }

  bool read_at_hand(const hash128& key, std::uint64_t object_bytes, std::uint64_t begin,
                    std::span<std::byte> into) {
    if (into.empty() || begin >= object_bytes || into.size() > object_bytes - begin)
      return false;
    for (std::size_t done = 0; done < into.size();) {
      const auto at = begin + done;
      const block_id id{key, at / cache_block_bytes};
      const auto within = static_cast<std::size_t>(at % cache_block_bytes);
      const auto size = static_cast<std::size_t>(bytes_of_block(id.index, object_bytes));
      const auto part = into.subspan(done).first(std::min(into.size() - done, size - within));
      if (open_.read_into(id, size, within, part) != cache_directory::found::bytes)
        return false; // what is damaged is counted by who fetches it
      done += part.size();
    }
    ++counts->hits;
    counts->bytes_found += into.size();
    return true;
  }

  static std::optional<hash128> key_of(const remote_object& x, const object_pin& pin) {
    return block_key(x.server(), x.name(), pin);
  }

  void search(std::shared_ptr<range_fetch> x, const object_pin& pin, const std::stop_token& stop) {
    const auto key = key_of(x->object(), pin);
    if (!key)
      return from_->begin(std::move(x), stop);
    if (x->to_ask().end > pin.size)
      x->ends_at(pin.size);
    if (x->is_complete())
      return x->succeed();
    const auto read = std::make_shared<cached_read>(std::move(x), *key, pin.size, stop);
    begin_search(); // before the stop may end the read: whoever waits for that destroys this
    try {
      cached_read::begin(read);
      disk_.add([this, read](disk_tasks::scratch& scratch) { find(read, scratch); },
                read->is_urgent);
    } catch (...) { // no memory
      end_search();
      throw;
    }
  }

  void begin_search() {
    const mutex_lock lock{mutex_};
    ++searches_;
  }
  void end_search() {
    const mutex_lock lock{mutex_};
    if (--searches_ == 0)
      all_ended_.notify_all();
  }

  /// Called by a thread of the disk.
  void find(const std::shared_ptr<cached_read>& x, disk_tasks::scratch& scratch) {
    std::shared_ptr<const error> failure;
    try {
      find_blocks(x, scratch);
    } catch (...) { // no memory
      failure = failure_of(*x->object);
    }
    x->end_part(failure);
    end_search();
  }

  /// Whether `of` is true of all blocks that have a part of the range: it is told which it is, its
  /// size, and from where to where it is wanted.
  template <class Of>
  static bool are_all(const remote_object::named_version& x, const byte_range& range, Of of) {
    const auto end = std::min(range.end, x.size);
    for (auto at = range.begin; at < end;) {
      const block_id id{x.key, at / cache_block_bytes};
      const auto block = id.index * cache_block_bytes;
      const auto size = static_cast<std::size_t>(bytes_of_block(id.index, x.size));
      const auto to = std::min(block + size, end);
      if (!of(id, size, static_cast<std::size_t>(at - block), static_cast<std::size_t>(to - block)))
        return false;
      at = to;
    }
    return true;
  }

  /// Called by a thread of the disk.
  bool is_here(const remote_object::named_version& x, const byte_range& range) noexcept {
    directory_.space().uses(x.key);
    try {
      return are_all(x, range,
                     [&](const block_id& id, auto... which) { return open_.expect(id, which...); });
    } catch (...) { // no memory
      return false;
    }
  }

  void find_blocks(const std::shared_ptr<cached_read>& x, disk_tasks::scratch& scratch) {
    directory_.space().uses(x->key);
    block_jobs::wanted passed_by{x, {}};
    for (auto at = x->range.begin; at < x->range.end;) {
      const block_id id{x->key, at / cache_block_bytes};
      const byte_range part{at, std::min((id.index + 1) * cache_block_bytes, x->range.end)};
      at = part.end;
      if (jobs_.join(id, {x, part}) || has(x, id, part, scratch))
        continue;
      if (directory_.takes_more() && directory_.space().may_have_room()) {
        jobs_.fetch(id, {x, part});
        continue;
      }
      if (passed_by.range.end != part.begin && passed_by.range.size() > 0)
        jobs_.pass_by(passed_by);
      if (passed_by.range.end != part.begin)
        passed_by.range = part;
      passed_by.range.end = part.end;
    }
    if (passed_by.range.size() > 0)
      jobs_.pass_by(passed_by);
  }

  bool has(const std::shared_ptr<cached_read>& x, const block_id& id, const byte_range& part,
           disk_tasks::scratch& scratch) {
    const auto block = id.index * cache_block_bytes;
    const auto size = static_cast<std::size_t>(bytes_of_block(id.index, x->object_bytes));
    const auto found =
        directory_.read(id, size, static_cast<std::size_t>(part.begin - block),
                        static_cast<std::size_t>(part.end - block), scratch,
                        [&](std::span<const std::byte> bytes) { x->put(part.begin, bytes); });
    if (found == cache_directory::found::damaged)
      ++counts->damaged;
    if (found == cache_directory::found::bytes) {
      ++counts->hits;
      counts->bytes_found += part.size();
    }
    return found == cache_directory::found::bytes;
  }

  const std::shared_ptr<range_fetcher> from_;
  cache_directory directory_;
  open_blocks open_;
  mutex mutex_;
  condition_variable all_ended_;
  std::size_t searches_ LEAT_GUARDED_BY(mutex_) = 0;
  std::unordered_multimap<const remote_object*, std::shared_ptr<learning>>
      learning_ LEAT_GUARDED_BY(mutex_);
  disk_tasks disk_;
  block_jobs jobs_;
};

cached_fetches::cached_fetches(std::shared_ptr<range_fetcher> from, const cache_settings& how,
                               std::shared_ptr<cache_counts> counts)
    : core_(std::make_unique<core>(std::move(from), how, std::move(counts))) {}

cached_fetches::~cached_fetches() = default;

void cached_fetches::begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) {
  core_->begin(std::move(x), stop);
}

bool cached_fetches::read_at_hand(const remote_object& x, std::uint64_t begin,
                                  std::span<const std::span<std::byte>> into) {
  return core_->read_at_hand(x, begin, into);
}

void cached_fetches::look_for(const std::shared_ptr<remote_object>& x, const byte_range& range,
                              std::function<void(bool)> then) {
  core_->look_for(x, range, then);
}

bool cached_fetches::is_open(const remote_object& x, const byte_range& range) noexcept {
  try {
    return core_->is_open(x, range);
  } catch (...) { // no memory
    return false;
  }
}

const transfer_counts& cached_fetches::counts() const noexcept {
  return core_->requests();
}

const cache_counts& cached_fetches::cached() const noexcept {
  return *core_->counts;
}

void cached_fetches::set_limit(std::uint64_t bytes) {
  core_->set_limit(bytes);
}

} // namespace leat
