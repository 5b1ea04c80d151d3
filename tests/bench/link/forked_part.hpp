#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace leat::bench {

/// What the processes of a measurement say to each other beside the connection that is measured:
/// a number at a time.
class part_line {
public:
  explicit part_line(int descriptor) : descriptor_(descriptor) {}

  void say(std::uint64_t x) const;
  /// Waits for it. Throws std::runtime_error if the other one has ended.
  std::uint64_t hear() const;

private:
  int descriptor_;
};

/// What a process does; what it returns is what it has measured.
using forked_part = std::function<std::vector<double>(const part_line& other)>;

/// Runs two parts, each in a process of its own, and returns what they have measured, the first
/// one's first. Call it where this process has no other thread. Throws std::runtime_error if one of
/// them fails, or takes more than two minutes.
std::vector<std::vector<double>> run_parts(const forked_part& a, const forked_part& b);

/// Of this process, now, in bytes.
double resident_bytes();
/// The most so far.
double peak_bytes();

} // namespace leat::bench
