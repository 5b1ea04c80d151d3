#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/sources/live/record_store.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace leat {

/// Takes records from their origin. Used by one thread, except for `interrupt`.
class record_reader : not_copied {
public:
  virtual ~record_reader() = default;

  enum class state : std::uint8_t { going_on, ended, interrupted };
  struct result {
    state now = state::going_on;
    /// Bytes of content that were added.
    std::uint64_t bytes = 0;
  };

  /// Blocks until something comes, and adds it to the store before it returns; that need not be a
  /// whole record. Once it has thrown `leat::error`, it is not called again.
  virtual result take(record_store& into) = 0;

  /// The records had ended before this process began, and some of them are to be acknowledged:
  /// makes their origin ready for that. Blocks up to the origin's end. Called in place of `take`.
  virtual void reopen(const record_store& ended) { (void)ended; }

  /// Makes a take that blocks, and all later ones, return, if that is possible. Any thread.
  virtual void interrupt() = 0;
};

/// The origin of records that exist once. Shared by all copies of a pipeline. Many threads call all
/// members at the same time.
class once_input : not_copied {
public:
  virtual ~once_input() = default;

  /// The beginning of the records' ids.
  virtual const std::string& name() const = 0;
  virtual record_format format() const = 0;
  /// Begins or continues to read. The input must outlive the reader. Throws
  /// `errc::invalid_argument` while there is another reader.
  virtual std::unique_ptr<record_reader> begin() = 0;
  /// Sets the fields of a record in a sample; they may borrow from `content`.
  virtual void set_fields(sample& into, std::span<const std::byte> content) const = 0;
};

/// The lines of file descriptor 0. There is one such input per process.
std::shared_ptr<once_input> standard_input_lines();

/// Samples that a function of the program makes, one per call; false ends them. `name` has no
/// version.
std::shared_ptr<once_input> function_samples(std::string name, std::function<bool(sample&)> next);

} // namespace leat
