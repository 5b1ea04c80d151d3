#pragma once

#include <leat/stored_source.hpp>

#include <cstdint>
#include <vector>

namespace leat {

/// A source that reads its records itself, and can tell which bytes that takes.
class located_records {
public:
  located_records() = default;
  located_records(const located_records&) = delete;
  located_records& operator=(const located_records&) = delete;
  virtual ~located_records() = default;

  /// As indexed_form::locate. Appends nothing if the record is in memory.
  virtual stored_objects* locate(std::uint64_t record, std::vector<extent>& into) const = 0;
};

} // namespace leat
