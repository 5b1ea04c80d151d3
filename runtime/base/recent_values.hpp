#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace leat {

/// A cache of the last `limit` values that were put into it, by key, so that things that can be
/// reopened do not stay open forever. One thread at a time.
template <class Key, class T>
class recent_values {
public:
  explicit recent_values(std::size_t limit) : limit_(limit) {}

  /// Takes the value out; nothing if it is gone.
  std::optional<T> take(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end())
      return std::nullopt;
    std::optional<T> value{std::move(found->second->second)};
    values_.erase(found->second);
    by_key_.erase(found);
    return value;
  }
  /// Replaces any value of that key. Beyond the limit, drops the value that was put longest ago.
  void put(const Key& key, T value) {
    take(key);
    by_key_[key] = values_.insert(values_.end(), {key, std::move(value)});
    if (values_.size() <= limit_)
      return;
    by_key_.erase(values_.front().first);
    values_.pop_front();
  }

private:
  std::size_t limit_;
  /// Oldest first.
  std::list<std::pair<Key, T>> values_;
  std::unordered_map<Key, typename std::list<std::pair<Key, T>>::iterator> by_key_;
};

} // namespace leat
