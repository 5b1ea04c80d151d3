#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// What outlives a coordinator: a state directory, or nothing but the process.
class coordinator_memory : not_copied {
public:
  struct found {
    /// The life that wrote it.
    std::uint64_t life = 0;
    std::string bytes;
  };

  virtual ~coordinator_memory() = default;

  /// Looks it up each time: another coordinator may have begun. Throws `errc::io`.
  virtual std::uint64_t newest_life() = 0;
  /// Where the coordinator of the newest life is; empty if that is not known.
  virtual std::string newest_address() { return {}; }
  /// Durable when it returns. Throws `errc::io`.
  virtual void write_state(std::uint64_t life, const std::string& bytes) = 0;
  /// What the newest life has written, or, if that has written nothing, the newest before it.
  /// Throws `errc::io` and `errc::torn_file`.
  virtual std::optional<found> read_state() = 0;
};

} // namespace leat
