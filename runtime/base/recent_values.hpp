#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace leat {

/// The values that were put here last, by key: at most `limit`, so that things that can be opened
/// again do not stay open for ever. One thread at a time.
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
  /// Replaces another value of that key; drops the value that was put longest ago.
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
  /// Put longest ago first.
  std::list<std::pair<Key, T>> values_;
  std::unordered_map<Key, typename std::list<std::pair<Key, T>>::iterator> by_key_;
};

} // namespace leat
