#pragma once

#include "tests/support/standard.hpp"

#include <leat/once.hpp>
#include <leat/pipeline.hpp>

namespace leat {

/// Gives some records, then blocks until it is let go, or destroyed.
class blocked_source {
public:
  explicit blocked_source(std::uint64_t records) : records_(records) {}
  ~blocked_source() { let_go(); }
  blocked_source(const blocked_source&) = delete;
  blocked_source& operator=(const blocked_source&) = delete;

  pipeline data() {
    return once("blocked", [this, n = std::uint64_t{0}](sample& into) mutable {
      if (n == records_) {
        blocks_.set_value();
        gone_.wait();
        return false;
      }
      into.set("n", n++);
      return true;
    });
  }
  /// Waits until it blocks.
  void wait() { blocks_.get_future().wait(); }
  /// Before the pipeline ends, which waits for the function.
  void let_go() {
    if (!std::exchange(is_gone_, true))
      let_go_.set_value();
  }

private:
  const std::uint64_t records_;
  std::promise<void> blocks_;
  std::promise<void> let_go_;
  std::shared_future<void> gone_ = let_go_.get_future().share();
  bool is_gone_ = false;
};

} // namespace leat
