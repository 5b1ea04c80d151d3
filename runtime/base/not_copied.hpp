#pragma once

namespace leat {

/// The base of classes whose objects are neither copied nor moved.
class not_copied {
public:
  not_copied(const not_copied&) = delete;
  not_copied& operator=(const not_copied&) = delete;

protected:
  not_copied() = default;
  ~not_copied() = default;
};

} // namespace leat
