#pragma once

#include <cstdint>

namespace leat {

/// A source that gains from knowing which record a thread reads next.
class hinted_source {
public:
  /// A hint: this record is read after the one that the thread is about to read. Throws what
  /// reading it would throw.
  virtual void expect(std::uint64_t record) const = 0;

protected:
  ~hinted_source() = default;
};

} // namespace leat
