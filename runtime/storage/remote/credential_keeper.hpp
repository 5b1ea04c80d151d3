#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/xxh3.hpp"

#include <leat/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace leat {

/// What somebody issued: a pair of keys, a token.
template <class T>
struct issued {
  T are;
  /// When they expire, in seconds since 1970; nothing: never.
  std::optional<std::int64_t> until = {};
};

/// Whom to ask for it.
template <class T>
struct issuer_of {
  /// For errors: "the role of this machine".
  std::string source;
  /// Asks. Blocks. Throws `leat::error`.
  std::function<issued<T>()> issue;
  /// Two issuers with the same key issue the same.
  std::string key = {};
  /// Where nobody answers, there are none.
  bool may_be_missing = false;
};

/// For errors: why nobody asks, where an issuer that may be missing was asked. `source` is its.
inline std::string nobody_issues(const std::string& source) {
  return "the metadata service that would issue those of " + source
         + " did not answer, or has none";
}

/// Credentials that somebody issues, renewed in time by a thread of their own. Any thread.
template <class T>
class credential_keeper : not_copied {
public:
  /// Asks for the first ones: blocks, and throws what the issuer throws.
  explicit credential_keeper(const issuer_of<T>& by) : credential_keeper(by, by.issue()) {}
  /// Takes over those that the issuer has issued before.
  credential_keeper(issuer_of<T> by, issued<T> first) : by_(std::move(by)) {
    const mutex_lock lock{mutex_};
    take(std::move(first));
  }
  ~credential_keeper() {
    std::thread last;
    {
      const mutex_lock lock{mutex_};
      last = std::move(renewing_);
    }
    if (last.joinable())
      last.join();
  }

  /// Those of this time (seconds since 1970). Never blocks: they are renewed 5 to 10 minutes before
  /// they expire, and used until then if that fails.
  T current(std::int64_t time) {
    const mutex_lock lock{mutex_};
    if (time >= renew_at_)
      renew_soon(time);
    return now_.are;
  }
  /// A service says that they are of no use any more.
  void renew(std::int64_t time) {
    const mutex_lock lock{mutex_};
    if (!asked_at_ || time >= *asked_at_ + pause)
      renew_soon(time);
  }
  const std::string& source() const noexcept { return by_.source; }

private:
  /// How many seconds before they expire this process renews them: not when all others do.
  std::int64_t lead() const {
    const auto id = by_.key + " " + std::to_string(::getpid());
    return 300 + static_cast<std::int64_t>(xxh3_128(std::as_bytes(std::span{id})).low % 300);
  }
  void take(issued<T> x) LEAT_REQUIRES(mutex_) {
    now_ = std::move(x);
    renew_at_ = now_.until ? *now_.until - lead() : std::numeric_limits<std::int64_t>::max();
  }

  void renew_soon(std::int64_t time) LEAT_REQUIRES(mutex_) {
    if (is_renewing_)
      return;
    if (renewing_.joinable())
      renewing_.join(); // it has ended
    is_renewing_ = true;
    asked_at_ = time;
    renew_at_ = time + pause;
    try {
      renewing_ = begin_thread("credentials", [this, time] {
        std::optional<issued<T>> made;
        try {
          made = by_.issue();
        } catch (...) { // the old ones are used until a service refuses them
        }
        const mutex_lock lock{mutex_};
        if (made) {
          take(std::move(*made));
          renew_at_ = std::max(renew_at_, time + pause); // also where little time is left of them
        }
        is_renewing_ = false;
      });
    } catch (...) { // no thread now: later
      is_renewing_ = false;
    }
  }

  /// Nobody is asked again for so long.
  static constexpr std::int64_t pause = 10;

  const issuer_of<T> by_;
  mutex mutex_;
  issued<T> now_ LEAT_GUARDED_BY(mutex_);
  std::int64_t renew_at_ LEAT_GUARDED_BY(mutex_) = std::numeric_limits<std::int64_t>::max();
  /// When others were asked for last, in place of the first ones.
  std::optional<std::int64_t> asked_at_ LEAT_GUARDED_BY(mutex_);
  bool is_renewing_ LEAT_GUARDED_BY(mutex_) = false;
  /// The last one that renewed them.
  std::thread renewing_ LEAT_GUARDED_BY(mutex_);
};

/// What the process knows of an issuer.
template <class T>
struct known_issuer {
  mutex guard;
  std::weak_ptr<credential_keeper<T>> keeper LEAT_GUARDED_BY(guard);
  /// What it issued last for a new keeper; nothing if nobody answered.
  std::optional<issued<T>> last LEAT_GUARDED_BY(guard);
  std::optional<std::chrono::steady_clock::time_point> asked_at LEAT_GUARDED_BY(guard);
};

/// The process's keeper for this issuer, since many sources may be opened at the same time. Within
/// a minute an issuer is not asked twice, as a folder of many classes is listed in many calls. Null
/// if nobody answers one that may be missing; otherwise throws what the issuer throws.
template <class T>
std::shared_ptr<credential_keeper<T>> keeper_for(const issuer_of<T>& by) {
  using steady = std::chrono::steady_clock;
  static mutex guard;
  static std::map<std::string, std::shared_ptr<known_issuer<T>>> all;
  std::shared_ptr<known_issuer<T>> known;
  {
    const mutex_lock lock{guard};
    // A child after a fork has none of the threads that renew.
    auto& place = all[std::to_string(::getpid()) + " " + by.key];
    if (!place)
      place = std::make_shared<known_issuer<T>>();
    known = place;
  }
  const mutex_lock lock{known->guard}; // others wait for what this one is told
  if (auto keeper = known->keeper.lock())
    return keeper;
  const bool is_new = known->asked_at && steady::now() < *known->asked_at + std::chrono::minutes{1};
  if (!is_new) {
    known->last.reset();
    try {
      known->last = by.issue();
    } catch (const error&) {
      if (!by.may_be_missing)
        throw;
    }
    known->asked_at = steady::now();
  }
  if (!known->last)
    return {};
  auto keeper = std::make_shared<credential_keeper<T>>(by, *known->last);
  known->keeper = keeper;
  return keeper;
}

} // namespace leat
