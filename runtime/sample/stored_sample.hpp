#pragma once

#include "runtime/base/value_bytes.hpp"
#include "runtime/sample/batch_layout.hpp"
#include "runtime/sample/item.hpp"

#include <leat/bad_sample.hpp>
#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Fields of a sample that was made before its row, or why it is bad.
class stored_sample final : public payload {
public:
  /// Copies all fields, including borrowed ones, and takes the sample's count of bytes read.
  static std::shared_ptr<const stored_sample> of(sample& x);
  static std::shared_ptr<const stored_sample> of(const bad_sample& x);

  /// Sets the fields in an empty sample. Throws `bad_sample` for a bad one.
  void copy_to(sample& into) const;

  /// For another process.
  void write(value_writer& to) const;
  /// Throws `torn_value` for anything that `write` would not write.
  static std::shared_ptr<const stored_sample> read(value_reader& from);

private:
  struct field {
    field_layout layout;
    std::vector<std::byte> bytes;
  };

  std::vector<field> fields_;
  std::uint64_t bytes_read_ = 0;
  std::shared_ptr<const bad_sample> bad_;
};

} // namespace leat
