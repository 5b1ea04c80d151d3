#pragma once

#include <leat/batch.hpp>

#include "python/module/python.hpp"

#include <memory>
#include <utility>

namespace leat::python {

/// A batch as Python sees it. It shares its lease with all arrays over its memory.
class batch_value {
public:
  explicit batch_value(lease x) : lease_(std::make_shared<lease>(std::move(x))) {}

  /// Throws `errc::invalid_argument` after release().
  const batch& get() const;
  bool is_released() const noexcept { return !lease_; }
  void release() noexcept { lease_.reset(); }
  /// What arrays over its memory keep. Throws as get() does.
  const std::shared_ptr<lease>& held() const;
  /// An object that keeps the lease, as the owner of an array over the batch's memory.
  nb::object owner() const;

private:
  std::shared_ptr<lease> lease_;
};

} // namespace leat::python
