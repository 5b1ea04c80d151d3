#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace leat {

/// Numbers, of which each may be there several times: their least and their largest one are known
/// at once, whichever of them change. With n different numbers each call takes O(log n).
class counted_numbers {
public:
  void add(std::uint64_t x) {
    ++counts_[x];
    ++size_;
  }
  /// `x` is there.
  void remove(std::uint64_t x) {
    const auto found = counts_.find(x);
    if (--found->second == 0)
      counts_.erase(found);
    --size_;
  }
  /// `from` is there, and becomes `to`.
  void change(std::uint64_t from, std::uint64_t to) {
    if (from == to)
      return;
    add(to);
    remove(from);
  }
  void clear() noexcept {
    counts_.clear();
    size_ = 0;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// There is at least one number.
  std::uint64_t least() const noexcept { return counts_.begin()->first; }
  std::uint64_t largest() const noexcept { return counts_.rbegin()->first; }

private:
  std::map<std::uint64_t, std::size_t> counts_;
  std::size_t size_ = 0;
};

} // namespace leat
