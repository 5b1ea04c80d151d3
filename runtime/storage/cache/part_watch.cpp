#include "runtime/storage/cache/part_watch.hpp"

#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/uninterrupted.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace leat {

part_watch::part_watch()
    : events_(opened([] { return ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK); })),
      wake_(opened([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })) {
  if (!events_ || !wake_)
    throw io_error(errno, {.stage = "cache", .got = "no watch of files: "});
  thread_ = begin_thread("cache watch", [this] { run(); });
}

part_watch::~part_watch() {
  {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
  }
  wake();
  thread_.join();
}

std::optional<std::uint64_t> part_watch::add(const file_descriptor& file) {
  // By its descriptor, since its name may be another file's by now.
  const auto path = "/proc/self/fd/" + std::to_string(file.get());
  const mutex_lock lock{mutex_};
  const int x = ::inotify_add_watch(events_.get(), path.c_str(),
                                    IN_MOVE_SELF | IN_ATTRIB | IN_DELETE_SELF | IN_CLOSE_WRITE);
  if (x < 0)
    return {};
  all_.emplace(++last_number_, watched{.descriptor = x});
  return last_number_;
}

void part_watch::when_changed(std::uint64_t number, clock::time_point deadline,
                              std::function<void(why)> then) {
  const mutex_lock lock{mutex_};
  auto& x = all_.at(number);
  x.deadline = deadline;
  x.then = std::move(then);
  wake(); // with the lock held: what `then` does may end in the destruction of this
}

void part_watch::remove(std::uint64_t number) {
  const mutex_lock lock{mutex_};
  const auto at = all_.find(number);
  if (at == all_.end())
    return;
  const int descriptor = at->second.descriptor;
  all_.erase(at);
  const bool is_watched = std::any_of(
      all_.begin(), all_.end(), [=](const auto& x) { return x.second.descriptor == descriptor; });
  if (!is_watched)
    (void)::inotify_rm_watch(events_.get(), descriptor); // the file may be gone
}

void part_watch::end_waiting() {
  {
    const mutex_lock lock{mutex_};
    waits_no_more_ = true;
  }
  wake();
}

void part_watch::wake() noexcept {
  const std::uint64_t one = 1;
  (void)uninterrupted([&] { return ::write(wake_.get(), &one, sizeof one); });
}

void part_watch::run() {
  for (;;) {
    int wait = -1;
    std::optional<std::function<void()>> due;
    {
      const mutex_lock lock{mutex_};
      if (is_ending_)
        return;
      take_events();
      due = next_due();
      wait = until_next();
    }
    if (due) {
      (*due)();
      continue;
    }
    std::array<pollfd, 2> on{pollfd{.fd = events_.get(), .events = POLLIN, .revents = 0},
                             pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    (void)::poll(on.data(), on.size(), wait);
    std::uint64_t calls = 0;
    (void)uninterrupted([&] { return ::read(wake_.get(), &calls, sizeof calls); });
  }
}

void part_watch::take_events() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (;;) {
    const auto n =
        uninterrupted([&] { return ::read(events_.get(), buffer.data(), buffer.size()); });
    if (n <= 0)
      return;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(n);) {
      inotify_event x{};
      std::memcpy(&x, buffer.data() + at, sizeof x);
      at += sizeof x + x.len;
      const bool is_lost = (x.mask & IN_Q_OVERFLOW) != 0;
      for (auto& [number, known] : all_)
        known.has_changed = known.has_changed || is_lost || known.descriptor == x.wd;
    }
  }
}

std::optional<std::function<void()>> part_watch::next_due() {
  const auto now = clock::now();
  for (auto& [number, x] : all_) {
    if (!x.then || !(x.has_changed || waits_no_more_ || x.deadline <= now))
      continue;
    const auto reason = std::exchange(x.has_changed, false) ? why::changed : why::deadline;
    return [then = std::exchange(x.then, nullptr), reason] { then(reason); };
  }
  return {};
}

int part_watch::until_next() const {
  auto next = clock::time_point::max();
  for (const auto& [number, x] : all_)
    if (x.then)
      next = std::min(next, x.deadline);
  if (next == clock::time_point::max())
    return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(next - clock::now(), clock::duration{}));
  return static_cast<int>(std::min<std::int64_t>(left.count(), std::numeric_limits<int>::max()));
}

} // namespace leat
