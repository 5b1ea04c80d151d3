#pragma once

#include "tests/gpu/driver.hpp"

#include <leat/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::gpu_check {

/// What was found by a comparison of fields on the device with the host's.
struct comparison {
  std::uint64_t batches = 0;
  std::uint64_t fields = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wrong = 0;
  /// The first one that differs.
  std::string first_wrong;

  comparison& operator+=(const comparison& x);
};

/// Reads batches as a trainer does, by copies in the trainer's own streams, and keeps what they had
/// on the host, because both may belong to another batch by the time of the comparison. One thread.
class batch_copies {
public:
  batch_copies(const driver& gpu, std::size_t capacity);
  ~batch_copies();
  batch_copies(const batch_copies&) = delete;
  batch_copies& operator=(const batch_copies&) = delete;

  /// Gives the stream, which waits for the batch already, the copies of all its fields that are on
  /// the device.
  void take(const batch& from, driver::stream in);
  /// All streams must have done their work.
  comparison compare() const;

private:
  struct part {
    std::uint64_t step = 0;
    std::string name;
    std::size_t begin = 0;
    std::size_t bytes = 0;
  };
  void take(std::uint64_t step, const std::string& name, const void* there, const void* here,
            std::size_t bytes, driver::stream in);

  const driver& gpu_;
  std::vector<std::byte> found_;
  std::vector<std::byte> due_;
  std::size_t used_ = 0;
  std::uint64_t batches_ = 0;
  std::vector<part> parts_;
};

} // namespace leat::gpu_check
