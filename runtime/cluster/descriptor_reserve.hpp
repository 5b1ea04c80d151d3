#pragma once

#include "runtime/base/descriptor_keeper.hpp"
#include "runtime/base/not_copied.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace leat {

/// Descriptors that are kept for calls which must not fail when the process has no more: each
/// opening of a call that lacks one gets one of these, and they are taken back after the call. Two
/// such calls at a time find enough. Another thread may take a descriptor between two openings;
/// then a call fails as it would without a reserve. Any thread.
class descriptor_reserve final : public descriptor_keeper {
public:
  ~descriptor_reserve() override;

  /// Keeps descriptors from now on; before that there are none to give.
  void begin() noexcept;
  /// Closes one; false if none is left.
  bool give_one() noexcept override;
  /// Takes back what was given, as far as there are descriptors.
  void fill() noexcept;

  /// While this lives, openings of this thread have the reserve.
  class use : not_copied {
  public:
    explicit use(descriptor_reserve& of) noexcept : of_(of), keeper_(of) {}
    ~use() { of_.fill(); }

  private:
    descriptor_reserve& of_;
    with_keeper keeper_;
  };

private:
  /// A file that is written, and its directory; a listing of another thread; one more.
  static constexpr std::size_t number = 4;
  static constexpr int none = -1;

  std::atomic<bool> has_begun_ = false;
  std::array<std::atomic<int>, number> kept_ = {none, none, none, none};
};

} // namespace leat
