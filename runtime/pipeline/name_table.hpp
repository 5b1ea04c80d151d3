#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// The things that a process knows by name. Any thread.
template <class T>
class name_table {
public:
  name_table() = default;
  explicit name_table(std::map<std::string, T> known) : known_(std::move(known)) {}

  void set(std::string name, T x) {
    mutex_lock lock{mutex_};
    known_.insert_or_assign(std::move(name), std::move(x));
  }

  bool has(const std::string& name) const {
    mutex_lock lock{mutex_};
    return known_.contains(name);
  }
  std::vector<std::string> all() const {
    mutex_lock lock{mutex_};
    std::vector<std::string> found;
    for (const auto& [name, x] : known_)
      found.push_back(name);
    return found;
  }

  /// `kind` says in the error what was being looked up.
  T get(const std::string& name, const std::string& kind) const {
    mutex_lock lock{mutex_};
    if (const auto found = known_.find(name); found != known_.end())
      return found->second;
    refuse_argument(kind, excerpt(name) + ", which is not registered", names());
  }

private:
  std::string names() const LEAT_REQUIRES(mutex_) {
    std::string text;
    for (const auto& [name, x] : known_)
      text += (text.empty() ? "one of " : ", ") + name;
    return text.empty() ? "a registration before parsing" : text;
  }

  mutable mutex mutex_;
  std::map<std::string, T> known_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
