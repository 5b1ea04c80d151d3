#include "tools/leat/verify/attempt_order.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace leat::command {

namespace {

/// Merges all logs from their ends. Where other processes resumed twice with the same step, it is a
/// guess in which of the two attempts a process took no part, and more is known about the end of a
/// job than about its middle. The head of a log is its next attempt in this direction.
class merger {
public:
  explicit merger(const std::vector<std::vector<attempt_key>>& logs)
      : logs_(logs), numbers_(logs.size()) {}

  std::vector<std::vector<std::size_t>> merge() {
    std::size_t number = 0;
    for (auto key = latest(); key; key = latest(), ++number)
      for (std::size_t i = 0; i < logs_.size(); ++i)
        if (has_head(i) && head(i) == *key)
          numbers_[i].push_back(number);
    for (auto& log : numbers_) {
      for (auto& x : log)
        x = number - 1 - x;
      std::reverse(log.begin(), log.end());
    }
    return std::move(numbers_);
  }

private:
  bool has_head(std::size_t log) const noexcept { return numbers_[log].size() < logs_[log].size(); }
  const attempt_key& head(std::size_t log) const {
    return logs_[log].rbegin()[static_cast<std::ptrdiff_t>(numbers_[log].size())];
  }

  /// What makes a head likely to be the latest: few other logs have it before their heads, all
  /// ranks have it, and it starts late. The start counts least, as a job may go back to an older
  /// set.
  struct claim {
    std::size_t logs_before = 0;
    std::size_t ranks = 0;
  };

  std::optional<attempt_key> latest() const {
    std::map<attempt_key, claim> heads;
    for (std::size_t i = 0; i < logs_.size(); ++i)
      if (has_head(i))
        ++heads[head(i)].ranks;
    for (auto& [key, claim] : heads)
      for (std::size_t i = 0; i < logs_.size(); ++i)
        if (has_head(i) && head(i) != key && comes_before(i, key))
          ++claim.logs_before;
    const auto worth = [](const auto& x) {
      const auto& [key, claim] = x;
      return std::tuple{-static_cast<std::int64_t>(claim.logs_before),
                        key.is_alone || claim.ranks == key.world_size, key.start};
    };
    const auto found = std::max_element(heads.begin(), heads.end(),
                                        [&](auto& a, auto& b) { return worth(a) < worth(b); });
    return found == heads.end() ? std::nullopt : std::optional{found->first};
  }

  bool comes_before(std::size_t log, const attempt_key& key) const {
    const auto& keys = logs_[log];
    const auto end = keys.end() - static_cast<std::ptrdiff_t>(numbers_[log].size());
    return std::find(keys.begin(), end, key) != end;
  }

  const std::vector<std::vector<attempt_key>>& logs_;
  std::vector<std::vector<std::size_t>> numbers_;
};

} // namespace

std::vector<std::vector<std::size_t>>
order_of_attempts(const std::vector<std::vector<attempt_key>>& logs) {
  return merger{logs}.merge();
}

} // namespace leat::command
