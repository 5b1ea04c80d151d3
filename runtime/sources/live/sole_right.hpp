#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/not_copied.hpp"

#include <atomic>
#include <string>

namespace leat {

/// The right to use something that only one may use at a time, for as long as this lives.
class sole_right : not_copied {
public:
  /// `taken` must outlive it. Throws `errc::invalid_argument` while another object has the right.
  sole_right(std::atomic<bool>& taken, const std::string& to) : taken_(taken) {
    if (taken.exchange(true))
      refuse_argument(to, "a second reader in this process",
                      "one at a time: what one reader takes, no other gets");
  }
  ~sole_right() { taken_ = false; }

private:
  std::atomic<bool>& taken_;
};

} // namespace leat
