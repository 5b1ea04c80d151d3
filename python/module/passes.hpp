#pragma once

#include <leat/notice.hpp>

namespace leat::python {

/// Watches the loops over one loader: a second loop, after the last batch, would silently get
/// nothing.
class passes {
public:
  void begin() { is_late_ = is_over_; }
  /// Records whether the loop got a batch or the end.
  void got(bool some) {
    if (!some && is_late_ && !is_told_) {
      is_told_ = true;
      notice("loader: this loop got no batch, since the one before it had the last: a loop goes "
             "through all epochs of the job, so give their number to the loader (epochs=3); "
             "batch.end_of_epoch says where one ends");
    }
    is_late_ = is_late_ && !some;
    is_over_ = !some;
  }

private:
  bool is_over_ = false;
  bool is_late_ = false;
  bool is_told_ = false;
};

} // namespace leat::python
