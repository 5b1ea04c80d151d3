#pragma once

#include <leat/export.hpp>

#include <chrono>
#include <functional>

namespace leat {

/// While it lives, calls of leat in this thread that wait, or take long, ask `goes_on` every
/// `interval` or so whether they are to go on: opening data, making a loader, next(), seek(),
/// skip_first_batches(), save(), wait_saved(). If it returns false, the call throws
/// `errc::interrupted` as if it had not been made: a loader stays usable. It must not call the
/// loader that asks. Meant for a language whose signal handlers run between two calls. An empty
/// function changes nothing; inner ones take the place of outer ones.
class LEAT_API patience {
public:
  explicit patience(std::function<bool()> goes_on,
                    std::chrono::milliseconds interval = std::chrono::milliseconds{100});
  ~patience();
  patience(const patience&) = delete;
  patience& operator=(const patience&) = delete;

  /// When to ask next: not before a wait has lasted a while.
  std::chrono::steady_clock::time_point next();
  /// Asks now.
  bool lasts();

private:
  friend bool outer_caller_lasts();

  std::function<bool()> goes_on_;
  std::chrono::milliseconds interval_;
  patience* outer_;
  std::chrono::steady_clock::time_point next_;
};

} // namespace leat
