#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/device/cuda/cuda_driver.hpp"

#include <cstddef>
#include <string>

namespace leat {

/// Throws `errc::device`: CUDA cannot be used in this process, which was forked.
[[noreturn]] void refuse_cuda_fork(const std::string& device);

/// The context of a GPU in which its driver is called: the primary one, which CUDA's runtime and
/// torch in this process share. CUDA was started. Any thread.
class cuda_context : not_copied {
public:
  cuda_context(const cuda_driver& driver, int number);
  /// As the process ends, the driver may have gone before: what it answers does not count.
  ~cuda_context();

  const cuda_driver& driver() const noexcept { return driver_; }
  int number() const noexcept { return number_; }
  int device() const noexcept { return device_; }
  /// "cuda:0"
  std::string name() const { return "cuda:" + std::to_string(number_); }

  /// The code that a function of the driver returns, which means this context. In the child of a
  /// fork it is not called.
  template <class Function>
  int ask(Function function) const {
    if (!mark_.is_here())
      return cuda_not_initialized;
    const current_context context{driver_, context_};
    return context.code() == cuda_success ? function() : context.code();
  }
  /// Throws what check() does.
  template <class Function>
  void call(const char* name, Function function) const {
    check(ask(function), name);
  }
  /// A context that is lost has lost what ends here, and so has a process that ends. Nothing in the
  /// child of a fork ends what is its parent's.
  template <class Function>
  void end(Function function) const noexcept {
    if (mark_.is_here())
      ask(function);
  }
  /// Throws `errc::device`, or `errc::no_resources` for memory, unless the code is 0. `name`: of
  /// the driver's function.
  void check(int code, const char* name) const;

private:
  /// Makes a device's context the one that calls of this thread mean. A trainer that captures a
  /// graph in another thread does not forbid them (CU_STREAM_CAPTURE_MODE_RELAXED), nor do they end
  /// its capture.
  class current_context : not_copied {
  public:
    current_context(const cuda_driver& driver, void* context);
    ~current_context();

    int code() const noexcept { return code_; }

  private:
    static constexpr int relaxed = 2;

    const cuda_driver& driver_;
    const int code_;
    /// What the thread has when this one ends.
    int capture_mode_ = relaxed;
  };

  const cuda_driver& driver_;
  const int number_;
  const process_mark mark_;
  int device_ = 0;
  void* context_ = nullptr;
};

/// A place on a GPU, as the driver's functions take it.
unsigned long long cuda_address(const std::byte* x) noexcept;

} // namespace leat
