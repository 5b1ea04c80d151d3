#pragma once

#include "runtime/sources/feed/fetched_records.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace leat::test {

/// A probe, or a row that is being made.
struct feed_user {
  enum class kind : std::uint8_t {
    /// Iterators wait for its result, so it is made before all rows.
    probe,
    row,
  };
  kind what = kind::row;
  std::uint64_t number = 0;

  friend bool operator==(const feed_user&, const feed_user&) = default;
  friend auto operator<=>(const feed_user&, const feed_user&) = default; // NOLINT: no pointer
};

/// What a simulated rank's probes and rows need of a feed: several records each, and several may
/// need the same one.
class row_needs {
public:
  void open(fetched_records& of, const feed_user& user, const std::vector<std::uint64_t>& numbers) {
    for (const auto number : numbers)
      if (users_[number]++ == 0)
        of.need(number);
    needs_[user] = numbers;
  }
  void await(fetched_records& of, const feed_user& user) const {
    for (const auto number : needs_.at(user))
      of.await(number);
  }
  bool are_here(const fetched_records& of, const feed_user& user) const {
    const auto& all = needs_.at(user);
    return std::all_of(all.begin(), all.end(),
                       [&](std::uint64_t number) { return of.find(number) != nullptr; });
  }
  void close(fetched_records& of, const feed_user& user) {
    for (const auto number : needs_.at(user))
      if (--users_.at(number) == 0) {
        users_.erase(number);
        of.drop(number);
      }
    needs_.erase(user);
  }
  void clear() {
    needs_.clear();
    users_.clear();
  }

private:
  std::map<feed_user, std::vector<std::uint64_t>> needs_;
  std::map<std::uint64_t, std::size_t> users_;
};

} // namespace leat::test
