#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Numbers in the order in which they came, of which any may be taken: in pieces, so that little
/// has to be moved and little to be looked through, however many there are.
class drawn_list {
public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  void push_back(std::uint32_t x);
  /// Removes the number at place i, from 0, and returns it. There must be one.
  std::uint32_t take(std::size_t i) noexcept;
  /// Calls `visit` for each, in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t p = 0; p < pieces_.size(); ++p)
      for (std::size_t i = 0; i < counts_[p]; ++i)
        visit((*pieces_[p])[i]);
  }

private:
  static constexpr std::size_t most = 256;
  using piece = std::array<std::uint32_t, most>;

  void remove(std::size_t p) noexcept;
  void join_next(std::size_t p) noexcept;

  std::vector<std::unique_ptr<piece>> pieces_;
  /// How many each has, at least 1.
  std::vector<std::uint32_t> counts_;
  /// Kept for the next one.
  std::unique_ptr<piece> spare_;
  std::size_t size_ = 0;
};

} // namespace leat
