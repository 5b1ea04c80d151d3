#pragma once

#include <cstdint>
#include <deque>

namespace leat {

struct read_ahead_limits {
  std::uint64_t records = 4096;
  std::uint64_t bytes = 16 << 20;
};

/// Says how far a source is read before anyone wants the records: everything that is wanted, and
/// beyond it until one of two limits is reached. The last read may exceed a limit.
class read_ahead {
public:
  /// `next`: number of the first record that is still to come.
  read_ahead(read_ahead_limits limits, std::uint64_t next) : limits_(limits), next_(next) {}

  /// Record `number` is wanted, and all records before it.
  void want(std::uint64_t number);
  /// Bytes came, and with them all records below `next`.
  void came(std::uint64_t next, std::uint64_t bytes);

  /// Number of the first record that nobody wants yet.
  std::uint64_t wanted() const noexcept { return wanted_; }
  bool wants_more() const noexcept;

private:
  /// Bytes that came together, and the number of the record that their last byte belongs to.
  struct piece {
    std::uint64_t record;
    std::uint64_t bytes;
  };

  void forget_wanted();

  read_ahead_limits limits_;
  std::uint64_t next_;
  std::uint64_t wanted_ = 0;
  /// What is not wanted yet, and the sum of its bytes.
  std::deque<piece> ahead_;
  std::uint64_t bytes_ahead_ = 0;
};

} // namespace leat
