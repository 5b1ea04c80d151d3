#pragma once

#include <leat/error.hpp>

#include <atomic>
#include <string>

namespace leat {

/// The right to use something that only one may use at a time, for as long as this lives.
class sole_right {
public:
  /// `taken` must outlive it. Throws `errc::invalid_argument` while another object has the right.
  sole_right(std::atomic<bool>& taken, const std::string& to) : taken_(taken) {
    if (taken.exchange(true))
      throw error(errc::invalid_argument,
                  {.stage = to,
                   .got = "a second reader in this process",
                   .needed = "one at a time: what one reader takes, no other gets"});
  }
  ~sole_right() { taken_ = false; }
  sole_right(const sole_right&) = delete;
  sole_right& operator=(const sole_right&) = delete;

private:
  std::atomic<bool>& taken_;
};

} // namespace leat
