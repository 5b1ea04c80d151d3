#include "runtime/storage/object_store.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/storage/remote/web_address.hpp"

#include <atomic>
#include <utility>

namespace leat {

namespace {

/// Receives the result of one read for the thread that began it. The lock is not taken if the read
/// ends before the thread waits for it.
class landing {
public:
  read_done callback() {
    return [this](read_result x) { end(std::move(x)); };
  }

  read_result wait() {
    auto now = state::begun;
    if (state_.compare_exchange_strong(now, state::awaited)) {
      mutex_lock lock{mutex_};
      while (!is_signaled_)
        changed_.wait(mutex_);
    }
    return std::move(result_);
  }

private:
  enum class state : std::uint8_t { begun, awaited, ended };

  void end(read_result x) {
    result_ = std::move(x);
    if (state_.exchange(state::ended) != state::awaited)
      return;
    // Notifies with the lock held: the waiting thread destroys this object as soon as it continues.
    const mutex_lock lock{mutex_};
    is_signaled_ = true;
    changed_.notify_one();
  }

  read_result result_;
  std::atomic<state> state_ = state::begun;
  mutex mutex_;
  condition_variable changed_;
  bool is_signaled_ LEAT_GUARDED_BY(mutex_) = false;
};

/// Two bytes: different for most versions.
std::string mark_of(const std::string& version) {
  const auto hash = xxh3_128(std::as_bytes(std::span{version})).low;
  return {static_cast<char>(hash & 0xff), static_cast<char>(hash >> 8 & 0xff)};
}

} // namespace

stored_versions versions_of(stored_objects& objects, std::size_t count) {
  stored_versions x;
  if (count > 0 && !objects.place(0).empty())
    objects.expect_stats(); // where nobody has asked for them yet
  hash_stream places;
  hash_stream versions;
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = objects.place(i);
    if (place.empty())
      return {};
    auto version = objects.stat(i).tag;
    if (version.empty())
      return {};
    places.add(place);
    versions.add(version);
    if (count > stored_versions::most_marked)
      continue;
    x.files.push_back(objects.name(i));
    x.now.push_back(std::move(version));
  }
  if (count == 0)
    return {};
  x.place = places.digest128();
  x.digest = versions.digest128();
  if (count <= stored_versions::most_named)
    x.named = x.now;
  else
    for (const auto& version : x.now)
      x.marks += mark_of(version);
  return x;
}

void object_store::put(const std::string& name, std::span<const std::byte>) const {
  throw_file_error(errc::invalid_argument, "put", as_utf8(without_secrets(name)),
                   "an address where leat puts nothing", places_to_put);
}

void stored_objects::read_ahead(std::span<const read_part> parts, read_done done,
                                const std::stop_token& stop) {
  read(parts, std::move(done), stop);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it
void stored_objects::read_ahead_if_far(const expected_range& range, read_room room, read_done done,
                                       const std::stop_token& stop) {
  const read_part part{range.object, range.offset, room()};
  read_ahead({&part, 1}, std::move(done), stop);
}

void stored_objects::expect(std::size_t, std::uint64_t, std::uint64_t) noexcept {}

bool stored_objects::expect_soon(std::span<const expected_range>) noexcept {
  return false;
}

bool stored_objects::expect_perhaps(std::span<const expected_range>) noexcept {
  return false;
}

void stored_objects::expect_nothing() noexcept {}

void stored_objects::expect_stats() noexcept {}

read_result stored_objects::read_here(std::span<const read_part> parts,
                                      const std::stop_token& stop) {
  landing end;
  read(parts, end.callback(), stop);
  return end.wait();
}

read_result near_objects::read_here(std::span<const read_part> parts, const std::stop_token&) {
  read_result x;
  try {
    x.bytes = read_parts(parts);
  } catch (const error& problem) {
    x.failure = std::make_shared<const error>(problem);
  }
  return x;
}

} // namespace leat
